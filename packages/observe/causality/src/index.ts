export { briefOf, serviceOf } from './brief.ts';
export { type CausalFinding, checkCausality } from './check.ts';
export { type CausalNode, causalTree } from './causal-tree.ts';
export { chromeTraceOf } from './chrome-trace.ts';
export { type ComparedStories, compare } from './compare.ts';
export { jsonLinesOf } from './json-lines.ts';
export { evidenceOf } from './explain/evidence.ts';
export { decisionIn, whyThisPod } from './explain/explain-eviction.ts';
export { type WhyInput, explain } from './explain/explain.ts';
export type { Explanation } from './explain/explanation.ts';
export { pressureDocument, rankingDocument } from './explain/pressure-document.ts';
export { recordedPod } from './explain/recorded-pod.ts';
export { type TopologyRefusal, topologyRefusalIn } from './explain/topology-refusal.ts';
export { type PodPaths, latencyOf } from './latency.ts';
export { otlpOf } from './otlp.ts';
export { type PodLife, nextLife } from './pod-life.ts';
export { type AskedPod, podAnswer } from './pod-answer.ts';
export { type PodSigns, hasSigns, signsOf } from './pod-signs.ts';
export { podStateOf, saidOf } from './pod-state.ts';
export { criticalPaths, podSummary, podTimeline } from './pod-story.ts';
export {
  type EventObject,
  type RecordedEvent,
  eventSubjects,
  eventsOf,
  newestEvents,
  recordedEvent,
} from './recorded-events.ts';
export { type RecordedMessage, recordedMessage } from './recorded-message.ts';
export { type RestartPath, restartPaths } from './restarts.ts';
export { type PathMessage, pathSteps, spentBetween } from './segments.ts';
export { type CountedMessages, type PublishedCount, type ReceivedCount, RATE_MS, serviceMap } from './service-map.ts';
export { type TopologyFacts, topologyFactsAt } from './topology/topology-facts.ts';
export { topologyDocument, topologyRows } from './topology/topology-document.ts';
export { type TopologyView, topologyView } from './topology/topology-view.ts';
export { payloadOf, summarise } from './summary.ts';
