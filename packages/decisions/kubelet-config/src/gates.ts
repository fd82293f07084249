import { configError } from './errors.ts';
import { gateTable } from './gate-table.ts';
import type { Note } from './notes.ts';

/** Gates that set all gates of a stage that are not set themselves. */
const stageGates: Readonly<Record<string, 'alpha' | 'beta'>> = { AllAlpha: 'alpha', AllBeta: 'beta' };

/** Which gates are enabled. */
export class GateSettings {
  readonly #set: Readonly<Record<string, boolean>>;

  /** @throws KubeletConfigError for a gate that does not exist or cannot be changed, with the reference's text. */
  constructor(set: Readonly<Record<string, boolean>>) {
    for (const [name, value] of Object.entries(set)) {
      if (Object.hasOwn(stageGates, name)) continue;
      const gate = gateTable.get(name);
      if (gate === undefined) throw configError(`unrecognized feature gate: ${name}`);
      if (gate.locked && value !== gate.default) {
        throw configError(`cannot set feature gate ${name} to ${value}, feature is locked to ${gate.default}`);
      }
    }
    this.#set = set;
  }

  enabled(name: string): boolean {
    const own = this.#set[name];
    if (own !== undefined) return own;
    const gate = gateTable.get(name);
    if (gate === undefined || gate.locked) return gate?.default ?? false;
    const all = Object.entries(stageGates).find(([, stage]) => stage === gate.stage)?.[0] ?? '';
    return this.#set[all] ?? gate.default;
  }

  /** The notes about the feature gates that are set. */
  get notes(): Note[] {
    return Object.entries(this.#set).flatMap(([name, value]): Note[] => {
      const gate = gateTable.get(name);
      const about = { setting: `featureGates.${name}`, value };
      if (gate === undefined)
        return [{ ...about, text: 'has no effect: groups of features cannot be enabled or disabled' }];
      const ends = gate.stage === 'ga' || gate.stage === 'deprecated';
      const removal = ends
        ? [{ ...about, text: `is ${gate.stage === 'ga' ? 'GA' : 'deprecated'} and will be removed` }]
        : [];
      return value === gate.default || gate.support.does === 'honoured'
        ? removal
        : [...removal, { ...about, text: 'has no effect: features cannot be enabled or disabled' }];
    });
  }
}
