export { type Attempt, AttemptLost, MAX_OUTPUT, MAX_TRIES, ProbeErrored } from './attempt.ts';
export { type ProbeDefinition, type ProbeKind, probeKinds, probesOf } from './definition.ts';
export { execCommand, execTimedOut, judgeExec } from './exec.ts';
export { type HealthAnswer, judgeGrpc } from './grpc.ts';
export { type HttpRequest, MAX_REQUESTS, USER_AGENT, httpFailure, httpRequest, judgeHttp } from './http.ts';
export { resolvePort } from './port.ts';
export { type Schedule, firstAttempt, nextAttempt, spreadOf } from './schedule.ts';
export {
  type ProbeContext,
  type ProbeState,
  type ProbedRun,
  type Verdict,
  conclude,
  initialProbe,
  mayProbe,
  observeRun,
} from './state.ts';
export { attemptEvent, erroredEvent, joinHostPort, kindNames } from './texts.ts';
