import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { type FileRegistry, createFileRegistry, fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';

/** The .proto files of this package as buf compiles them now, read by a protobuf library that shares nothing with the generated code. */
export function compiled(): FileRegistry {
  const bytes = execFileSync(
    process.execPath,
    [createRequire(import.meta.url).resolve('@bufbuild/buf/bin/buf'), 'build', '--as-file-descriptor-set', '-o', '-'],
    { cwd: new URL('..', import.meta.url), maxBuffer: 16 * 1024 * 1024 },
  );
  return createFileRegistry(fromBinary(FileDescriptorSetSchema, bytes));
}
