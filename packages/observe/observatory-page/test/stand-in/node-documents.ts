import type {
  ComparedStep,
  Comparison,
  CriticalPath,
  LatencyDocument,
  MapEdge,
  MapService,
  ServiceMap,
} from '@kubus/contracts/observatory';
import { quantile } from 'd3-array';
import { podLife } from './pod-life.ts';
import type { StandInRecording } from './recording.ts';
import { pathOf, summaryOf } from './story-documents.ts';
import { type Story, pace } from './story.ts';

type What = 'start' | 'stop';

export function latencyOf(recording: StandInRecording, what: What, one?: Story): LatencyDocument {
  const summaries = recording.pods().map((pod, index) => ({ pod, index }));
  const measured = summaries.filter(
    ({ pod, index }) => pod[`${what}Ms`] !== undefined && (one === undefined || one.index === index),
  );
  const kept = new Map<number, CriticalPath>();
  const paths = measured.map(({ pod, index }) => {
    const path = kept.get(index % pace) ?? storyPath(recording, pod.uid, what);
    kept.set(index % pace, path);
    return path;
  });
  const services = new Map(paths.flatMap(({ segments }) => segments.map(({ step, service }) => [step, service])));
  return {
    what,
    pods: measured.map(({ pod }) => pod),
    ms: paths.map(({ ms }) => ms),
    segments: [...services].map(([step, service]) => {
      const ms = paths.map(({ segments }) => {
        const own = segments.filter((segment) => segment.step === step);
        return own.length === 0 ? null : own.reduce((sum, segment) => sum + segment.ms, 0);
      });
      const known = ms.filter((value) => value !== null);
      return {
        step,
        service,
        ms,
        p50: quantile(known, 0.5) ?? 0,
        p95: quantile(known, 0.95) ?? 0,
        max: Math.max(...known),
      };
    }),
  };
}

function storyPath(recording: StandInRecording, uid: string, what: What): CriticalPath {
  const story = recording.story(uid);
  if (story === undefined) throw new Error(`no pod ${uid}`);
  return pathOf(story, what, recording.numbered(story));
}

export function comparisonOf(
  what: What,
  left: { recording: StandInRecording; story?: Story },
  right: { recording: StandInRecording; story?: Story },
): Comparison {
  const documents = [left, right].map(({ recording, story }) => latencyOf(recording, what, story));
  const steps = [...new Set(documents.flatMap(({ segments }) => segments.map(({ step }) => step)))];
  return {
    what,
    left: side(left, documents[0]),
    right: side(right, documents[1]),
    steps: steps.map((step, index): ComparedStep => {
      const [l, r] = documents.map(({ segments }) => segments.find((segment) => segment.step === step));
      // The stand-in's pods all have the same steps; one is left out on each side, so that the page shows missing steps too.
      const a = index === 5 ? undefined : l?.p50;
      const b = index === 9 ? undefined : r?.p50;
      return {
        step,
        service: l?.service ?? r?.service ?? '',
        ...(a !== undefined && { left: a }),
        ...(b !== undefined && { right: b }),
        verdict: verdictOf(a, b),
      };
    }),
  };
}

function verdictOf(left: number | undefined, right: number | undefined): ComparedStep['verdict'] {
  if (left === undefined) return 'added';
  if (right === undefined) return 'missing';
  if (Math.abs(right - left) < Math.max(1, left * 0.15)) return 'same';
  return right > left ? 'slower' : 'faster';
}

function side(
  { recording, story }: { recording: StandInRecording; story?: Story },
  latency: LatencyDocument | undefined,
): Comparison['left'] {
  return {
    recording: recording.options.name,
    ...(story !== undefined && { pod: summaryOf(story, Infinity) }),
    pods: latency?.pods.length ?? 0,
    ms: quantile(latency?.ms ?? [], 0.5) ?? 0,
  };
}

const abouts: Readonly<Record<string, string>> = {
  'config-sources': 'Reads the pod sources and merges them into PodUpdates.',
  'sync-loop': 'Manages the desired pods: decides which are admitted, and which worker owns them.',
  'pod-workers': 'One ordered worker per pod: decides what to start, stop and remove, and sends the commands for it.',
  'cri-bridge': 'The only connection to the container runtime: runs commands in lanes, and contains the PLEG.',
  'cni-bridge': 'Runs the CNI plugin chains that the runtime requests through the shim.',
};

export function mapOf(recording: StandInRecording): ServiceMap {
  const pods = recording.pods().length;
  const byName = new Map(podLife.map((step) => [step.name, step]));
  const edges = new Map<string, MapEdge>();
  for (const effect of podLife) {
    for (const cause of effect.after.flatMap((name) => byName.get(name) ?? [])) {
      if (cause.kind === 'reply' || cause.service === effect.service) continue;
      const key = `${cause.service} ${effect.service} ${cause.type}`;
      const known = edges.get(key);
      edges.set(key, {
        from: cause.service,
        to: effect.service,
        type: cause.type,
        kind: cause.kind,
        messages: (known?.messages ?? 0) + pods,
        rate: (known?.rate ?? 0) + 0.4,
        busP50: effect.bus,
        busP95: effect.bus * 2.4,
      });
    }
  }
  // A reader that was never the first to wait has no bus times.
  edges.set('pod-workers node-api', {
    from: 'pod-workers',
    to: 'node-api',
    type: 'worker.fact.status/1',
    kind: 'fact',
    messages: pods * 4,
    rate: 1.2,
  });
  const names = [...new Set([...podLife.map(({ service }) => service), 'node-api', 'launcher'])];
  return {
    services: names.map((service): MapService => {
      const messages = podLife.filter((step) => step.service === service).length * pods;
      const announced = new Date(recording.options.began).toISOString();
      return {
        service,
        about: abouts[service] ?? 'Does its part of the node’s work.',
        instances: [{ instance: `${service}-0`, epoch: 3, startedAt: announced }],
        messages,
        rate: messages / 300,
      };
    }),
    edges: [...edges.values()],
  };
}
