import type { Checks } from '../checks.ts';
import type { Guest } from '../guest.ts';
import type { Say } from '../progress.ts';
import type { RuntimeSetup } from '../runtime-setup.ts';

/** What a group has at hand: a guest that has just booted and that it may change as it likes. */
export interface Stage {
  readonly guest: Guest;
  readonly checks: Checks;
  readonly say: Say;
  /** The guest has a disk with the reference kubelet: trees are read from it and kept. */
  readonly hasReference: boolean;
}

/** Tests that belong together, in a guest of their own. */
export interface Group {
  readonly name: string;
  readonly about: string;
  /** The runtime and the driver that its pods have. */
  readonly setup: RuntimeSetup;
  /** What does not hold is in `stage.checks`; what throws ends the group and fails it. */
  run(stage: Stage): Promise<void>;
}
