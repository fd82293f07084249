/** The source of random identity. Passed in, so that a replay or a simulation repeats it. */
export interface Ids {
  /** `bytes` random bytes as lower-case hexadecimal digits (two per byte). */
  hex(bytes: number): string;
  /** A number in [0, 1): jitter, tie breaking. */
  fraction(): number;
}
