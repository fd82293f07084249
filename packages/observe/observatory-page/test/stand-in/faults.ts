import {
  type FaultsDocument,
  type PauseDocument,
  disturbedNameSchema,
  newFaultSchema,
  newServiceFaultSchema,
} from '@kubus/contracts/observatory';

/** A refused request, with the error text of the observatory. */
export class BadFault extends Error {}

type Rule = FaultsDocument['rules'][number];

/** The faults of a simulated node: each rule acts ten times a second. */
export class StandInFaults {
  readonly #rules = new Map<string, Rule>();
  readonly #pauses = new Map<string, PauseDocument>();
  #named = 0;

  list(): FaultsDocument {
    const now = Date.now();
    const rules = [...this.#rules.values()].filter(({ ends }) => (ends ?? Infinity) > now);
    return {
      rules: rules.map((rule) => ({ ...rule, acted: Math.floor((now - rule.since) / 100), actedAt: now })),
      pauses: [...this.#pauses.values()].filter(({ ends }) => ends > now),
    };
  }

  inject(body: string): Rule {
    const parsed = newFaultSchema.safeParse(JSON.parse(body));
    if (!parsed.success) throw badFault(parsed.error.issues);
    const { id = `${parsed.data.what.kind}-${++this.#named}`, ...rest } = parsed.data;
    const since = Date.now();
    const forMs = rest.when?.forMs;
    const rule: Rule = {
      rule: { id, ...rest },
      text: [
        rest.what.kind,
        rest.match.subject,
        ...(rest.match.pod === undefined ? [] : [`about pod ${rest.match.pod}`]),
      ].join(' '),
      ...{ since, acted: 0, ...(forMs !== undefined && { ends: since + forMs }) },
    };
    this.#rules.set(id, rule);
    return rule;
  }

  /** Undefined: all. */
  clear(id: string | undefined): void {
    if (id !== undefined) {
      this.#rules.delete(id);
      return;
    }
    this.#rules.clear();
    this.#pauses.clear();
  }

  disturb(service: string, body: string): { instances: string[] } {
    const name = disturbedNameSchema.safeParse(service);
    const fault = newServiceFaultSchema.safeParse(JSON.parse(body));
    if (!name.success) throw badFault(name.error.issues.map((issue) => ({ ...issue, path: ['service'] })));
    if (!fault.success) throw badFault(fault.error.issues);
    const instance = /-\d+$/.test(service) ? service : `${service}-0`;
    const since = Date.now();
    if (fault.data.what === 'pause') this.#pauses.set(instance, { instance, since, ends: since + fault.data.forMs });
    return { instances: [instance] };
  }
}

function badFault(issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[]): BadFault {
  return new BadFault(issues.map(({ path, message }) => `${path.map(String).join('.')}: ${message}`).join('; '));
}
