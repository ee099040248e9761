// The list of all checkers.
import { answeredInTime } from "./answered-in-time.ts";
import { atMostOnce } from "./at-most-once.ts";
import { bounds } from "./bounds.ts";
import { callOrder } from "./call-order.ts";
import type { CheckerKind } from "./checker.ts";
import { epochOrder } from "./epoch-order.ts";
import { failClosed } from "./fail-closed.ts";
import { failedStarts } from "./failed-starts.ts";
import { heardBeforeGranted } from "./heard-before-granted.ts";
import { homesHaveTheRole } from "./homes-have-the-role.ts";
import { homesNoted } from "./homes-noted.ts";
import { honestErrors } from "./honest-errors.ts";
import { isolation } from "./isolation.ts";
import { leadership } from "./leadership.ts";
import { leasesHonoured } from "./leases-honoured.ts";
import { linearizable } from "./linearizable.ts";
import { movesLoseNothing } from "./moves-lose-nothing.ts";
import { noNeedlessEviction } from "./no-needless-eviction.ts";
import { noResurrection } from "./no-resurrection.ts";
import { notInVain } from "./not-in-vain.ts";
import { notedBeforeGranted } from "./noted-before-granted.ts";
import { nothingLeft } from "./nothing-left.ts";
import { oneHome } from "./one-home.ts";
import { ownRows } from "./own-rows.ts";
import { quietLog } from "./quiet-log.ts";
import { remindersKept } from "./reminders-kept.ts";
import { remindersLeftNothing } from "./reminders-left-nothing.ts";
import { remindersNeverEarly } from "./reminders-never-early.ts";
import { remindersOnTheGrid } from "./reminders-on-the-grid.ts";
import { remindersOneAtATime } from "./reminders-one-at-a-time.ts";
import { remindersVoid } from "./reminders-void.ts";
import { routingAgreement } from "./routing-agreement.ts";
import { singleCommitter } from "./single-committer.ts";
import { singleRunner } from "./single-runner.ts";
import { stickyHolders } from "./sticky-holders.ts";
import { stickyStays } from "./sticky-stays.ts";
import { strategyFollowed } from "./strategy-followed.ts";
import { takeBeforeRead } from "./take-before-read.ts";
import { turnExclusion } from "./turn-exclusion.ts";
import { unmoved } from "./unmoved.ts";
import { workflowAnswers } from "./workflow-answers.ts";
import { workflowCausality } from "./workflow-causality.ts";
import { workflowHistory } from "./workflow-history.ts";
import { workflowMatching } from "./workflow-matching.ts";
import { workflowOnce } from "./workflow-once.ts";
import { workflowOneDecision } from "./workflow-one-decision.ts";
import { workflowReplay } from "./workflow-replay.ts";
import { workflowSignals } from "./workflow-signals.ts";
import { workflowWakeUps } from "./workflow-wake-ups.ts";

export const CHECKERS: readonly CheckerKind[] = [
  singleCommitter,
  noResurrection,
  epochOrder,
  ownRows,
  takeBeforeRead,
  singleRunner,
  turnExclusion,
  routingAgreement,
  unmoved,
  isolation,
  bounds,
  linearizable,
  failClosed,
  answeredInTime,
  nothingLeft,
  failedStarts,
  honestErrors,
  leadership,
  quietLog,
  atMostOnce,
  notedBeforeGranted,
  leasesHonoured,
  noNeedlessEviction,
  notInVain,
  stickyHolders,
  heardBeforeGranted,
  stickyStays,
  oneHome,
  homesNoted,
  homesHaveTheRole,
  strategyFollowed,
  callOrder,
  movesLoseNothing,
  remindersKept,
  remindersNeverEarly,
  remindersOneAtATime,
  remindersOnTheGrid,
  remindersVoid,
  remindersLeftNothing,
  workflowHistory,
  workflowOneDecision,
  workflowCausality,
  workflowReplay,
  workflowOnce,
  workflowWakeUps,
  workflowSignals,
  workflowMatching,
  workflowAnswers,
];
