export {
  type FaultDocument,
  type FaultsDocument,
  type NewFault,
  type NewServiceFault,
  type PauseDocument,
  disturbedNameSchema,
  newFaultSchema,
  newServiceFaultSchema,
} from './fault.ts';
export type { MessageBrief, MessageDocument, MessageKind, MessagePage } from './message.ts';
export {
  type Completeness,
  LIVE,
  type RecordingDocument,
  recordingNameSchema,
  startRecordingSchema,
} from './recording.ts';
export type {
  ComparedSide,
  ComparedStep,
  Comparison,
  CriticalPath,
  LatencyDocument,
  NextLook,
  PodAnswer,
  PodFailure,
  PodState,
  PodSummary,
  PodTimeline,
  Segment,
  SegmentStatistics,
  WorkSpan,
} from './pod.ts';
export type { DensityDocument, LiveTick, MapEdge, MapService, ObservatoryDocument, ServiceMap } from './node.ts';
export type {
  CurvePoint,
  PressureDocument,
  RankedPodDocument,
  RankingDocument,
  SignalDocument,
  ThresholdDocument,
} from './pressure.ts';
export type { CpuOwner, TopologyClaim, TopologyDevice, TopologyDocument, TopologyNode } from './topology.ts';
