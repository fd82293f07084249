import { fileURLToPath } from 'node:url';

/** The chart of this project. */
export const chartFolder = fileURLToPath(new URL('../../kubus', import.meta.url));
