/** A condition that a service needs for its work; `undefined` means fulfilled, a text names the problem. */
export type Check = () => string | undefined;

/**
 * The health of a service. Liveness (`/healthz`) fails only for problems that a restart would fix; readiness (`/readyz`) also
 * for problems that others have to fix first, such as a lost bus or a missing runtime.
 */
export class Health {
  readonly #live = new Map<string, Check>();
  readonly #ready = new Map<string, Check>();

  /** Adds a check to `/healthz` and `/readyz`. */
  live(name: string, check: Check): void {
    this.#live.set(name, check);
  }

  /** Adds a check to `/readyz`. */
  ready(name: string, check: Check): void {
    this.#ready.set(name, check);
  }

  report(kind: 'live' | 'ready'): { ok: boolean; checks: Record<string, string> } {
    const checks: Record<string, string> = {};
    const all = kind === 'live' ? [...this.#live] : [...this.#live, ...this.#ready];
    for (const [name, check] of all) checks[name] = check() ?? 'ok';
    return { ok: Object.values(checks).every((text) => text === 'ok'), checks };
  }
}
