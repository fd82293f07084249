import { type JsonObject, type StatusError, failure } from '@kubus/kube-objects';
import type { ArrivedRequest, Fault } from '@kubus/kube-server';

/** The fault of a request; `answer` by its parts, of which the code is enough. */
type WantedFault =
  | Exclude<Fault, { kind: 'answer' }>
  | {
      readonly kind: 'answer';
      readonly code: number;
      readonly reason?: string;
      readonly message?: string;
      readonly retryAfterSeconds?: number;
    };

export interface FaultRule {
  when(request: ArrivedRequest): boolean;
  readonly fault: WantedFault;
  /** The number of affected requests; default: all. */
  readonly times?: number;
}

/** An active rule. */
export interface InjectedFault {
  /** The number of requests affected so far. */
  readonly hits: number;
  remove(): void;
}

/** The faults of a server. The rule that was injected first takes precedence. */
export class Faults {
  readonly #rules = new Set<FaultRule & { hits: number }>();

  inject(rule: FaultRule): InjectedFault {
    // A separate rule, also if the test injects the same one twice.
    const counted = {
      when: (request: ArrivedRequest) => rule.when(request),
      fault: rule.fault,
      times: rule.times ?? Infinity,
      hits: 0,
    };
    this.#rules.add(counted);
    return {
      get hits() {
        return counted.hits;
      },
      remove: () => this.#rules.delete(counted),
    };
  }

  clear(): void {
    this.#rules.clear();
  }

  /** The fault of this request, counted. */
  take(request: ArrivedRequest): Fault | undefined {
    for (const rule of this.#rules) {
      if (rule.hits >= (rule.times ?? Infinity) || !rule.when(request)) continue;
      rule.hits += 1;
      return rule.fault.kind === 'answer' ? { kind: 'answer', error: answeredFault(rule.fault) } : rule.fault;
    }
    return undefined;
  }
}

const REASONS: Readonly<Record<number, readonly [reason: string, message: string]>> = {
  400: ['BadRequest', 'the server rejected our request for an unknown reason'],
  401: ['Unauthorized', 'Unauthorized'],
  403: ['Forbidden', 'forbidden by a test'],
  404: ['NotFound', 'the server could not find the requested resource'],
  409: ['Conflict', 'the object has been modified; please apply your changes to the latest version and try again'],
  410: ['Expired', 'The resourceVersion for the provided watch is too old.'],
  429: ['TooManyRequests', 'Too many requests, please try again later.'],
  500: ['InternalError', 'Internal error occurred: injected by a test'],
  503: ['ServiceUnavailable', 'the server is currently unable to handle the request'],
  504: ['Timeout', 'Timeout: request did not complete within the allotted timeout'],
};

function answeredFault(fault: Extract<WantedFault, { kind: 'answer' }>): StatusError {
  const [reason, message] = REASONS[fault.code] ?? ['Unknown', `answer ${fault.code} of a test`];
  const details: JsonObject =
    fault.retryAfterSeconds === undefined ? {} : { retryAfterSeconds: fault.retryAfterSeconds };
  return failure(fault.code, fault.reason ?? reason, fault.message ?? message, details);
}
