import { configError } from './errors.ts';
import { gateTable } from './gate-table.ts';
import type { Note } from './notes.ts';

/** Switch all gates of a stage that are not named themselves. */
const stageGates: Readonly<Record<string, 'alpha' | 'beta'>> = { AllAlpha: 'alpha', AllBeta: 'beta' };

/** Whether gates are on. */
export class GateSettings {
  readonly #set: Readonly<Record<string, boolean>>;

  /** @throws KubeletConfigError for a gate that does not exist, or can not be changed, in the reference's words. */
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

  /** What people are told of the gates that they set. */
  get notes(): Note[] {
    return Object.entries(this.#set).flatMap(([name, value]): Note[] => {
      const gate = gateTable.get(name);
      const about = { setting: `featureGates.${name}`, value };
      if (gate === undefined) return [{ ...about, text: 'has no effect: Kubus switches no groups of features' }];
      const ends = gate.stage === 'ga' || gate.stage === 'deprecated';
      const removal = ends
        ? [{ ...about, text: `is ${gate.stage === 'ga' ? 'GA' : 'deprecated'} and will be removed` }]
        : [];
      return value === gate.default
        ? removal
        : [...removal, { ...about, text: 'has no effect: features can not be switched' }];
    });
  }
}
