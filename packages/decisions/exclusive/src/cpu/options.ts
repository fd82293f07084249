/** cpuManagerPolicyOptions of the policy `static`. */
export interface CpuOptions {
  readonly fullCores: boolean;
  readonly acrossNodes: boolean;
  readonly bySocket: boolean;
  readonly acrossCores: boolean;
  readonly strictReservation: boolean;
  readonly byCache: boolean;
}

/** The gates that allow options; those of the rest are stable. */
export interface CpuOptionGates {
  /** CPUManagerPolicyAlphaOptions */
  readonly alpha: boolean;
  /** CPUManagerPolicyBetaOptions */
  readonly beta: boolean;
}

const names = {
  fullCores: 'full-pcpus-only',
  acrossNodes: 'distribute-cpus-across-numa',
  bySocket: 'align-by-socket',
  acrossCores: 'distribute-cpus-across-cores',
  strictReservation: 'strict-cpu-reservation',
  byCache: 'prefer-align-cpus-by-uncorecache',
} as const;

const known: readonly string[] = Object.values(names);

const ALPHA: readonly string[] = [names.bySocket, names.acrossCores];
const BETA: readonly string[] = [names.acrossNodes];

/** Options that cannot be set together. */
const apart = [
  ['fullCores', 'acrossCores'],
  ['acrossNodes', 'acrossCores'],
  ['byCache', 'acrossCores'],
  ['byCache', 'acrossNodes'],
] as const;

const TRUE = ['1', 't', 'T', 'TRUE', 'true', 'True'];
const FALSE = ['0', 'f', 'F', 'FALSE', 'false', 'False'];

/** The options, or the problem in the reference kubelet's words. */
export function cpuOptions(
  given: Readonly<Record<string, string>>,
  gates: CpuOptionGates,
): CpuOptions | { readonly problem: string } {
  for (const [name, value] of Object.entries(given)) {
    const problem = optionProblem(name, value, gates);
    if (problem !== undefined) return { problem };
  }
  const isSet = (option: keyof CpuOptions) => TRUE.includes(given[names[option]] ?? 'false');
  for (const [one, other] of apart) {
    if (!isSet(one) || !isSet(other)) continue;
    return { problem: `static policy options ${names[one]} and ${names[other]} can not be used at the same time` };
  }
  return {
    fullCores: isSet('fullCores'),
    acrossNodes: isSet('acrossNodes'),
    bySocket: isSet('bySocket'),
    acrossCores: isSet('acrossCores'),
    strictReservation: isSet('strictReservation'),
    byCache: isSet('byCache'),
  };
}

function optionProblem(name: string, value: string, { alpha, beta }: CpuOptionGates): string | undefined {
  const quoted = JSON.stringify(name);
  if (!known.includes(name)) return `unknown CPU Manager Policy option: ${quoted}`;
  const level = ALPHA.includes(name) && !alpha ? 'Alpha' : 'Beta';
  if (level === 'Alpha' || (BETA.includes(name) && !beta)) {
    return `CPU Manager Policy ${level}-level Options not enabled, but option ${quoted} provided`;
  }
  if (TRUE.includes(value) || FALSE.includes(value)) return undefined;
  return `bad value for option ${quoted}: strconv.ParseBool: parsing ${JSON.stringify(value)}: invalid syntax`;
}
