/** Collects what is wrong. */
export class Problems {
  readonly found: string[] = [];

  /** @param problem goes on after "invalid configuration: ", which people look for */
  check(isRight: boolean, problem: () => string): void {
    if (!isRight) this.found.push(`invalid configuration: ${problem()}`);
  }
}
