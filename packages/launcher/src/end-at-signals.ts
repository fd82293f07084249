/** Ends this process when it is told to, as soon as what it does has stopped. */
export function endAtSignals(launcher: { stop(): Promise<void> }): void {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      launcher.stop().then(
        () => process.exit(0),
        () => process.exit(1),
      );
    });
  }
}
