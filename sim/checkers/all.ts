// The list of all checkers.
import { answeredInTime } from "./answered-in-time.ts";
import { atMostOnce } from "./at-most-once.ts";
import { bounds } from "./bounds.ts";
import { callOrder } from "./call-order.ts";
import type { CheckerKind } from "./checker.ts";
import { epochOrder } from "./epoch-order.ts";
import { failedStarts } from "./failed-starts.ts";
import { honestErrors } from "./honest-errors.ts";
import { isolation } from "./isolation.ts";
import { linearizable } from "./linearizable.ts";
import { noResurrection } from "./no-resurrection.ts";
import { notInVain } from "./not-in-vain.ts";
import { nothingLeft } from "./nothing-left.ts";
import { ownRows } from "./own-rows.ts";
import { failClosed } from "./placement/fail-closed.ts";
import { heardBeforeGranted } from "./placement/heard-before-granted.ts";
import { leadership } from "./placement/leadership.ts";
import { leasesHonoured } from "./placement/leases-honoured.ts";
import { noNeedlessEviction } from "./placement/no-needless-eviction.ts";
import { notedBeforeGranted } from "./placement/noted-before-granted.ts";
import { routingAgreement } from "./placement/routing-agreement.ts";
import { singleCommitter } from "./placement/single-committer.ts";
import { singleRunner } from "./placement/single-runner.ts";
import { stickyHolders } from "./placement/sticky-holders.ts";
import { stickyStays } from "./placement/sticky-stays.ts";
import { unmoved } from "./placement/unmoved.ts";
import { quietLog } from "./quiet-log.ts";
import { remindersKept } from "./reminders/reminders-kept.ts";
import { remindersLeftNothing } from "./reminders/reminders-left-nothing.ts";
import { remindersNeverEarly } from "./reminders/reminders-never-early.ts";
import { remindersOnTheGrid } from "./reminders/reminders-on-the-grid.ts";
import { remindersOneAtATime } from "./reminders/reminders-one-at-a-time.ts";
import { remindersVoid } from "./reminders/reminders-void.ts";
import { homesHaveTheRole } from "./sharding/homes-have-the-role.ts";
import { homesNoted } from "./sharding/homes-noted.ts";
import { movesLoseNothing } from "./sharding/moves-lose-nothing.ts";
import { oneHome } from "./sharding/one-home.ts";
import { strategyFollowed } from "./sharding/strategy-followed.ts";
import { takeBeforeRead } from "./take-before-read.ts";
import { turnExclusion } from "./turn-exclusion.ts";
import { workflowAnswers } from "./workflows/workflow-answers.ts";
import { workflowCausality } from "./workflows/workflow-causality.ts";
import { workflowHistory } from "./workflows/workflow-history.ts";
import { workflowMatching } from "./workflows/workflow-matching.ts";
import { workflowOnce } from "./workflows/workflow-once.ts";
import { workflowOneDecision } from "./workflows/workflow-one-decision.ts";
import { workflowReplay } from "./workflows/workflow-replay.ts";
import { workflowSignals } from "./workflows/workflow-signals.ts";
import { workflowWakeUps } from "./workflows/workflow-wake-ups.ts";

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
