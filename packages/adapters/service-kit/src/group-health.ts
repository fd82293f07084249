import type { ServiceName } from '@kubus/contracts';
import { Health } from './health.ts';

/** The health of services that share a container, as one report: well when each of them is. */
export class GroupHealth {
  readonly #services: readonly ServiceName[];
  readonly #begun = new Map<ServiceName, Health>();

  constructor(services: readonly ServiceName[]) {
    this.#services = services;
  }

  /** The health of a service that is being started, from now on part of the report. */
  begin(service: ServiceName): Health {
    const health = new Health();
    this.#begun.set(service, health);
    return health;
  }

  report(kind: 'live' | 'ready'): ReturnType<Health['report']> {
    const checks: Record<string, string> = {};
    for (const service of this.#services) {
      const report = this.#begun.get(service)?.report(kind);
      // A service that has not begun cannot be fixed by a restart.
      if (report === undefined) checks[service] = kind === 'live' ? 'ok' : 'not started';
      else checks[service] = problemsOf(report.checks) || 'ok';
    }
    return { ok: Object.values(checks).every((text) => text === 'ok'), checks };
  }
}

function problemsOf(checks: Readonly<Record<string, string>>): string {
  return Object.entries(checks)
    .filter(([, text]) => text !== 'ok')
    .map(([name, text]) => `${name}: ${text}`)
    .join('; ');
}
