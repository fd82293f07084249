/** One line of `ctr events`. */
export interface RuntimeEvent {
  /** When containerd published it: UTC, with nanoseconds, as `ctr` prints it. */
  readonly at: string;
  /** containerd's namespace; that of CRI is `k8s.io`. */
  readonly namespace: string;
  /** Such as `/tasks/start`. */
  readonly topic: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

/**
 * How often the process of one container or sandbox was started and ended. More than one start is always an error. Times are
 * milliseconds since the Unix epoch.
 */
export interface ContainerRuns {
  readonly id: string;
  readonly starts: number;
  readonly exits: number;
  /** Of the first start. */
  readonly startedAt: number;
  /** Of the first exit: a restarted containerd may report it again. Undefined while it runs. */
  readonly exitedAt: number | undefined;
}

const line = /^(?<day>\S+) (?<time>\S+) \+0000 UTC (?<namespace>\S+) (?<topic>\/\S+) (?<payload>\{.*\})$/;

/** The events in the output of `ctr events`, in their order. An incomplete last line is left out. */
export function parseEvents(log: string): RuntimeEvent[] {
  return log.split('\n').flatMap((text) => {
    const { day, time, namespace, topic, payload } = line.exec(text)?.groups ?? {};
    if (day === undefined || time === undefined || namespace === undefined || topic === undefined) {
      return [];
    }
    return [
      { at: `${day}T${time}Z`, namespace, topic, payload: JSON.parse(payload ?? '{}') as RuntimeEvent['payload'] },
    ];
  });
}

/** The container that an event is about. Events of a process that was run in a container (exec) are not about it. */
export function containerOf({ topic, payload }: RuntimeEvent): string | undefined {
  const id = topic.startsWith('/containers/') ? payload['id'] : payload['container_id'];
  const exec = topic === '/tasks/exit' && payload['id'] !== id;
  return typeof id === 'string' && !exec ? id : undefined;
}

/**
 * The starts and exits of every container and sandbox that was started, in the order of their first start.
 *
 * @param listed by id: runs whose start is in no event, but whose exit may be
 */
export function containerRuns(
  events: readonly RuntimeEvent[],
  listed: ReadonlyMap<string, ContainerRuns> = new Map(),
): ContainerRuns[] {
  const runs = new Map<string, ContainerRuns>();
  for (const event of events) {
    const id = containerOf(event);
    if (id === undefined) continue;
    const known = runs.get(id);
    const at = Date.parse(event.at);
    if (event.topic === '/tasks/start') {
      const { starts, ...run } = known ?? { id, starts: 0, exits: 0, startedAt: at, exitedAt: undefined };
      runs.set(id, { ...run, starts: starts + 1 });
    } else if (event.topic === '/tasks/exit') {
      const run = known ?? listed.get(id);
      if (run !== undefined) runs.set(id, { ...run, exits: run.exits + 1, exitedAt: run.exitedAt ?? at });
    }
  }
  return [...runs.values()];
}
