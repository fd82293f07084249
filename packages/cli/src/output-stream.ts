/** Writes as fast as whoever reads it. */
export async function writeTo(stream: NodeJS.WriteStream, bytes: Uint8Array): Promise<void> {
  await new Promise((resolve) => stream.write(bytes, resolve));
}

/** A program whose output nobody reads any more, such as before `head`, ends without a word. */
export function endWithReader(): void {
  process.stdout.once('error', () => process.exit());
}
