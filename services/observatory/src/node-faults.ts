import type { Bus, CommandResult, StoredMessage } from '@kubus/bus';
import { type ActiveFault, type FaultRule, type ServiceFault, disturbService } from '@kubus/contracts';
import { type FaultDocument, type FaultsDocument, LIVE } from '@kubus/contracts/observatory';
import { describeRule } from '@kubus/experiment';
import { FaultRules } from '@kubus/faults';
import type { Clock } from '@kubus/ports';
import { RecordingReader } from '@kubus/recording';
import { answered } from './answered.ts';
import { FaultTally } from './fault-tally.ts';
import type { Faults } from './faults.ts';
import type { NodeRecordings } from './node-recordings.ts';

const NO_ANSWER = 'the launcher of the node does not answer; it may still apply the fault: see the list';

export interface NodeFaultsOptions {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly recordings: Pick<NodeRecordings, 'path' | 'onMessages'>;
}

/** Asks the launcher of a node that was started with faults to apply them. Loaded on such a node only. */
export class NodeFaults implements Faults {
  readonly #options: NodeFaultsOptions;
  readonly #tally: FaultTally;
  readonly #rules: FaultRules;

  constructor(options: NodeFaultsOptions) {
    this.#options = options;
    const { bus, clock, recordings } = options;
    this.#tally = new FaultTally((type, from) => recordedMessages(recordings.path(LIVE), type, from));
    recordings.onMessages((messages) => this.#tally.take(messages));
    this.#rules = new FaultRules(
      bus,
      () => clock.now(),
      (fault) => this.#tally.holds(fault),
    );
  }

  list(): FaultsDocument {
    const pauses = this.#tally.pauses(this.#options.clock.now());
    return { rules: this.#rules.list.map((fault) => this.#document(fault)), pauses };
  }

  async inject(rule: FaultRule): Promise<FaultDocument> {
    return this.#document(await this.#answered(this.#rules.inject(rule)));
  }

  async clear(id?: string): Promise<readonly string[]> {
    return this.#answered(this.#rules.clear(id));
  }

  async disturb(service: string, fault: ServiceFault): Promise<readonly string[]> {
    const asked: Promise<CommandResult<{ instances: string[] }>> = this.#options.bus.call(
      disturbService,
      service,
      fault,
    );
    return (await this.#answered(asked)).result.instances;
  }

  #document(fault: ActiveFault): FaultDocument {
    const { rule, since, ends } = fault;
    const acted = this.#tally.of(rule.id);
    return { rule, text: describeRule(rule), since, ...(ends !== undefined && { ends }), ...acted };
  }

  #answered<T>(asked: Promise<T>): Promise<T> {
    return answered(asked, this.#options.clock, NO_ANSWER);
  }
}

/** The messages of one type that have been recorded since a time. */
function recordedMessages(file: string, type: string, from: number): StoredMessage[] {
  const reader = new RecordingReader(file);
  try {
    return [...reader.all({ type, from })];
  } finally {
    reader.close();
  }
}
