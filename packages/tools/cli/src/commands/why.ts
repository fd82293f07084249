import {
  type Explanation,
  type WhyInput,
  decisionIn,
  evidenceOf,
  explain,
  newestEvents,
  recordedPod,
} from '@kubus/causality';
import { bareType, networkCondition, podVolumes, runtimeCondition } from '@kubus/contracts';
import { readinessProblems } from '@kubus/node-status';
import type { Command } from 'commander';
import { type NodeLink, connectNode } from '../node/node-link.ts';
import { printKubusDocument } from '../output/documents.ts';
import { outputOption, print } from '../output/output.ts';
import { type PodRecord, readPodRecord, readRecordedPod } from '../pods/pod-record.ts';
import { Pods } from '../pods/pods.ts';
import { withRecording } from '../pods/recording-file.ts';
import { UserError } from '../user-error.ts';

interface WhyOptions {
  readonly namespace: string;
  readonly recording?: string;
  readonly output?: 'json' | 'yaml';
}

/** Of the runtime and the network, relative to the node's subject. */
const CONDITIONS = '*.fact.condition.*';

export function addWhy(program: Command): void {
  program
    .command('why')
    .argument('<pod>', 'name or UID of the pod, also of one that is removed')
    .description('say in one paragraph what a pod waits for or why it failed, with the message that says so')
    .option('-n, --namespace <namespace>', 'namespace of the pod', 'default')
    .option('--recording <file>', 'read an exported recording instead of the node')
    .addOption(outputOption())
    .action(async (name: string, options: WhyOptions, command: Command) => {
      const { namespace, recording } = options;
      if (recording !== undefined) {
        await withRecording(recording, (reader) => {
          const record = readRecordedPod(reader, name, namespace);
          show(explain(ofRecord(record, reader.meta.ended ?? Date.now())), record, options);
        });
        return;
      }
      const link = await connectNode(command.optsWithGlobals<{ node: string }>().node);
      const record = await readPodRecord(link, name, namespace, { mayBeEmpty: true });
      const input = (await ofNode(link, record)) ?? ofRecord(record, Date.now());
      const conditions = await link.record(CONDITIONS);
      show(explain(input), { ...record, messages: [...conditions, ...record.messages] }, options);
    });
}

/** What the node's facts say of a pod; undefined when it is gone. */
async function ofNode(link: NodeLink, { uid, messages }: PodRecord): Promise<WhyInput | undefined> {
  const [pods, volumes, runtimes, networks] = await Promise.all([
    Pods.read(link),
    link.facts(podVolumes),
    link.facts(runtimeCondition),
    link.facts(networkCondition),
  ]);
  const pod = pods.get(uid);
  if (pod === undefined) return undefined;
  const now = Date.now();
  const condition = [...runtimes][0]?.value;
  const network = [...networks][0]?.value;
  return {
    ...{ work: pod.work, isGone: false, status: pod.status, worker: pod.worker, now },
    volumes: volumes.get(uid)?.value,
    events: newestEvents(messages),
    decision: decisionIn(messages, uid),
    nodeProblems: readinessProblems({ condition, awaySince: undefined, network }, now),
  };
}

function ofRecord({ uid, messages }: PodRecord, now: number): WhyInput {
  const pod = recordedPod(messages);
  if (pod === undefined) throw new UserError(`the record does not say what became of pod ${uid}: it may be too old`);
  return { ...pod, nodeProblems: [], now };
}

function show(explanation: Explanation, { uid, messages }: PodRecord, { output }: WhyOptions): void {
  const found = evidenceOf(messages, explanation.says);
  const message = found && {
    ...{ id: found.id, type: bareType(found.type), source: found.source },
    time: new Date(found.at).toISOString(),
  };
  const { state, text, notice } = explanation;
  if (output !== undefined) {
    printKubusDocument('PodExplanation', { uid, state, text, notice, message }, output);
    return;
  }
  print(message === undefined ? text : `${text} ${sourceOf(message)}`);
  if (notice !== undefined) print(notice);
}

function sourceOf({
  id,
  type,
  source,
  time,
}: { readonly [Name in 'id' | 'type' | 'source' | 'time']: string }): string {
  return `(${type} of ${source} at ${time.slice(11, 23)}, message ${id})`;
}
