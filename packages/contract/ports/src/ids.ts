/** The source of random ids. It is passed in, so that a replay or a simulation can repeat the ids. */
export interface Ids {
  /** `bytes` random bytes as lower-case hexadecimal digits (two per byte). */
  hex(bytes: number): string;
  /** A random number in [0, 1), for jitter and tie breaking. */
  fraction(): number;
}
