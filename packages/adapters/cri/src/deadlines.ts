import type { CriMethods, UnaryCriMethod } from '@kubus/proto/cri';

/** The reference kubelet's runtimeRequestTimeout, in milliseconds. */
const REQUEST_TIMEOUT_MS = 120_000;

type Deadline<M extends UnaryCriMethod> = (request: CriMethods[M]['request'], base: number) => number | undefined;

const seconds = (text: string | undefined) => Number(text ?? 0);

/** The methods whose deadline differs from the request timeout. */
const special: { readonly [M in UnaryCriMethod]?: Deadline<M> } = {
  // Creating a sandbox includes its network, which may take long by itself.
  RunPodSandbox: (_request, base) => 2 * base,
  // The runtime waits for the container itself; the rest of the time is for the call.
  StopContainer: ({ timeout }, base) => seconds(timeout) * 1000 + base,
  // 0: the command may run for ever.
  ExecSync: ({ timeout }, base) => (seconds(timeout) === 0 ? undefined : seconds(timeout) * 1000 + base),
  CheckpointContainer: ({ timeout }, base) => (seconds(timeout) > 0 ? seconds(timeout) * 1000 : base),
  // No limit while it makes progress; the runtime has its own limit for a stalled pull.
  PullImage: () => undefined,
};

/**
 * How long to wait for a call, in milliseconds; undefined: no limit. As the reference kubelet does with
 * `requestTimeoutMs` as its runtimeRequestTimeout.
 */
export function defaultDeadlineMs<M extends UnaryCriMethod>(
  method: M,
  request: CriMethods[M]['request'],
  requestTimeoutMs: number = REQUEST_TIMEOUT_MS,
): number | undefined {
  const deadline: Deadline<M> | undefined = special[method];
  return deadline === undefined ? requestTimeoutMs : deadline(request, requestTimeoutMs);
}
