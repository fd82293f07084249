import { KubeError, type KubeRequest, type KubeRequester } from '@kubus/kube';

/** An answer of the API server, or why there is none. */
type ApiAnswer = { readonly answer: unknown } | { readonly refused: Refused };

type Refused = Pick<KubeError, 'message' | 'status' | 'reason' | 'retryAfterMs' | 'said'> & {
  readonly answered: boolean;
};

/** The connection to the API server as plain values, so that it can be journaled. */
export interface ApiPort {
  request(request: KubeRequest): Promise<ApiAnswer>;
}

/** The port of a client. */
export function apiPort(client: KubeRequester): ApiPort {
  return {
    request: async (request) => {
      try {
        return { answer: await client.request(request) };
      } catch (thrown) {
        if (!(thrown instanceof KubeError)) throw thrown;
        const { code, message, status, reason, retryAfterMs, said } = thrown;
        return { refused: { answered: code === 'Rejected', message, status, reason, retryAfterMs, said } };
      }
    },
  };
}

/** A client over a port. */
export function requesterOver(port: ApiPort): KubeRequester {
  return {
    request: async (request) => {
      const answer = await port.request(request);
      if ('answer' in answer) return answer.answer;
      const { answered, message, ...rest } = answer.refused;
      throw new KubeError(answered ? 'Rejected' : 'Unreachable', message, rest);
    },
  };
}
