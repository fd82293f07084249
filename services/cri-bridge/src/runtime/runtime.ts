import type { CriClient } from '@kubus/cri';

/** What the bridge needs of its connection to the container runtime. */
export type Runtime = Pick<CriClient, 'call' | 'connection' | 'watchConnection' | 'containerEvents'>;
