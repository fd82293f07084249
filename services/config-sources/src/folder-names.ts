import { opendir } from 'node:fs/promises';

/** The names in a folder that are manifests, or are to be. */
export interface FolderNames {
  /** In order, as many as were asked for. */
  readonly names: readonly string[];
  /** Further names. */
  readonly more: number;
  /** Names that are not UTF-8, with these bytes replaced. As many as were asked for. */
  readonly unreadable: readonly string[];
}

/**
 * The first names of a folder, however many there are; hidden ones are left out. Holds no more than twice `limit` of them.
 *
 * @throws the error of opendir(3)
 */
export async function folderNames(path: string, limit: number): Promise<FolderNames> {
  const names: string[] = [];
  const unreadable: string[] = [];
  let more = 0;
  const cut = () => {
    names.sort();
    more += names.splice(limit).length;
  };
  // A byte for each character: any other encoding replaces what it cannot decode, so that such a name leads to no file.
  for await (const { name: bytes } of await opendir(path, { encoding: 'latin1', bufferSize: 256 })) {
    if (bytes.startsWith('.')) continue;
    const name = decoded(bytes);
    if (name !== undefined) names.push(name);
    else if (unreadable.length < limit) unreadable.push(Buffer.from(bytes, 'latin1').toString());
    if (names.length >= 2 * limit) cut();
  }
  cut();
  return { names, more, unreadable: unreadable.sort() };
}

function decoded(bytes: string): string | undefined {
  const name = Buffer.from(bytes, 'latin1').toString();
  return Buffer.from(name).toString('latin1') === bytes ? name : undefined;
}
