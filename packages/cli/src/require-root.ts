import { UserError } from './user-error.ts';

/** Namespaces, mounts and containers belong to root. */
export function requireRoot(command: string): void {
  if (process.getuid?.() !== 0) throw new UserError(`"kubus ${command}" needs root: run it with sudo`);
}
