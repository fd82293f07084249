import { type FileContent, holdsContent, writeContent } from '@kubus/filesystem';
import { type ObjectData, ObjectError } from '@kubus/object-socket';
import type { ContentFile, ContentSource, ContentStep } from '@kubus/volume';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { VolumeRefused } from './file-stat.ts';
import type { MadeVolume } from '../ports.ts';
import { type ValueReader, asAwaits, noValues } from './values.ts';

type TokenSource = Extract<ContentSource, { kind: 'token' }>;

/** The bytes of one file, and when they have to be read again. */
interface Value {
  readonly data: Uint8Array;
  readonly refreshAt?: number;
}

/**
 * Writes a volume's files, whose values are read only now. The volume is made at the same time; both have ended when
 * this returns or throws.
 *
 * @param make makes what contains the files
 * @throws {@link VolumeAwaits} when values cannot be read at the moment; the existing files stay.
 */
export async function makeContent(
  step: ContentStep,
  make: () => Promise<unknown>,
  values: ValueReader | undefined,
): Promise<Pick<MadeVolume, 'refreshAt'>> {
  const [content, folder] = await Promise.allSettled([readContent(step, values), make()]);
  if (folder.status === 'rejected') throw folder.reason;
  if (content.status === 'rejected') throw asVolumeError(content.reason);
  const { path } = step.folder;
  for (const inside of step.mountPoints) await mkdir(join(path, inside), { recursive: true, mode: MOUNT_POINT_MODE });
  const { files, refreshAt } = content.value;
  await writeContent(path, files, step);
  return refreshAt === undefined ? {} : { refreshAt };
}

/** Whether the volume's files have been written, also by an earlier process. */
export function isWritten({ folder: { path } }: ContentStep): Promise<boolean> {
  return holdsContent(path);
}

const MOUNT_POINT_MODE = 0o755;

async function readContent(
  { objects, files, account }: ContentStep,
  values: ValueReader | undefined,
): Promise<{ files: FileContent[]; refreshAt: number | undefined }> {
  const reader = values ?? noValues;
  const read = Promise.all(objects.map((object) => reader.read(object)));
  const written = await Promise.all(
    files.map(async ({ source, ...file }: ContentFile) => ({
      ...file,
      value: await valueOf(source, { read, reader, account }),
    })),
  );
  const times = written.flatMap(({ value: { refreshAt } }) => refreshAt ?? []);
  return {
    files: written.map(({ value: { data }, ...file }) => ({ ...file, data })),
    refreshAt: times.length === 0 ? undefined : Math.min(...times),
  };
}

interface Sources {
  readonly read: Promise<ObjectData[]>;
  readonly reader: ValueReader;
  readonly account: ContentStep['account'];
}

async function valueOf(source: ContentSource, { read, reader, account }: Sources): Promise<Value> {
  switch (source.kind) {
    case 'text':
      return { data: Buffer.from(source.text) };
    case 'token':
      return tokenOf(source, reader, account);
    case 'value': {
      const object = (await read)[source.object];
      const data = object?.values.get(source.key) ?? object?.binaryValues.get(source.key);
      if (data === undefined) throw new VolumeRefused('refused', `references non-existent key: ${source.key}`);
      return { data };
    }
  }
}

async function tokenOf(
  { audiences, expirationSeconds }: TokenSource,
  reader: ValueReader,
  account: ContentStep['account'],
): Promise<Value> {
  if (account === undefined) throw new VolumeRefused('refused', 'the pod has no service account');
  const question = { audiences: [...audiences], pod: account.pod, ...(expirationSeconds && { expirationSeconds }) };
  const { token, refreshTimestamp } = await reader.token(account, question);
  return { data: Buffer.from(token), refreshAt: Date.parse(refreshTimestamp) };
}

function asVolumeError(error: unknown): unknown {
  const awaits = asAwaits(error);
  if (awaits !== undefined || !(error instanceof ObjectError)) return awaits ?? error;
  return new VolumeRefused('refused', `failed to fetch token: ${error.message}`, { cause: error });
}
