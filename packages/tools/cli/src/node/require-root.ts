import { UserError } from '../user-error.ts';

/** Throws a {@link UserError} unless this process runs as root, which namespaces, mounts and containers need. */
export function requireRoot(command: string): void {
  if (process.getuid?.() !== 0) throw new UserError(`"kubus ${command}" needs root: run it with sudo`);
}
