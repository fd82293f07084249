/** Collects problems. */
export class Problems {
  readonly found: string[] = [];

  /** @param problem follows "invalid configuration: ", which people search for */
  check(isRight: boolean, problem: () => string): void {
    if (!isRight) this.found.push(`invalid configuration: ${problem()}`);
  }
}
