// The list of all checkers.
import { answeredInTime } from "./calls/answered-in-time.ts";
import { atMostOnce } from "./calls/at-most-once.ts";
import { callOrder } from "./calls/call-order.ts";
import { honestErrors } from "./calls/honest-errors.ts";
import { linearizable } from "./calls/linearizable.ts";
import { notInVain } from "./calls/not-in-vain.ts";
import { turnExclusion } from "./calls/turn-exclusion.ts";
import type { CheckerKind } from "./checker.ts";
import { failClosed } from "./placement/fail-closed.ts";
import { leadership } from "./placement/leadership.ts";
import { leasesHonoured } from "./placement/leases-honoured.ts";
import { noNeedlessEviction } from "./placement/no-needless-eviction.ts";
import { persistedBeforeGranted } from "./placement/persisted-before-granted.ts";
import { reportedBeforeGranted } from "./placement/reported-before-granted.ts";
import { routingAgreement } from "./placement/routing-agreement.ts";
import { singleRunner } from "./placement/single-runner.ts";
import { stickyHolders } from "./placement/sticky-holders.ts";
import { stickyStays } from "./placement/sticky-stays.ts";
import { unmoved } from "./placement/unmoved.ts";
import { bounds } from "./process/bounds.ts";
import { failedStarts } from "./process/failed-starts.ts";
import { nothingLeft } from "./process/nothing-left.ts";
import { quietLog } from "./process/quiet-log.ts";
import { remindersKept } from "./reminders/reminders-kept.ts";
import { remindersLeftNothing } from "./reminders/reminders-left-nothing.ts";
import { remindersNeverEarly } from "./reminders/reminders-never-early.ts";
import { remindersOnTheGrid } from "./reminders/reminders-on-the-grid.ts";
import { remindersOneAtATime } from "./reminders/reminders-one-at-a-time.ts";
import { remindersVoid } from "./reminders/reminders-void.ts";
import { homesHaveTheRole } from "./sharding/homes-have-the-role.ts";
import { homesPersisted } from "./sharding/homes-persisted.ts";
import { movesLoseNothing } from "./sharding/moves-lose-nothing.ts";
import { oneHome } from "./sharding/one-home.ts";
import { strategyFollowed } from "./sharding/strategy-followed.ts";
import { epochOrder } from "./state/epoch-order.ts";
import { isolation } from "./state/isolation.ts";
import { noResurrection } from "./state/no-resurrection.ts";
import { ownRows } from "./state/own-rows.ts";
import { singleCommitter } from "./state/single-committer.ts";
import { takeBeforeRead } from "./state/take-before-read.ts";
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
  persistedBeforeGranted,
  leasesHonoured,
  noNeedlessEviction,
  notInVain,
  stickyHolders,
  reportedBeforeGranted,
  stickyStays,
  oneHome,
  homesPersisted,
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
