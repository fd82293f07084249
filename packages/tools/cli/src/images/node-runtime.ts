import { type ContainerdPrograms, type NodeDir, findContainerd, nodeDir, readSettings } from '@kubus/launcher';
import { callCriOnce } from '@kubus/node-images';
import type { CriMethods, UnaryCriMethod } from '@kubus/proto/cri';
import { toError } from '@kubus/ports';
import { existsSync } from 'node:fs';
import { requireRoot } from '../node/require-root.ts';
import { noSuchNode, upCommand } from '../node/no-such-node.ts';
import { UserError } from '../user-error.ts';

/** The runtime of a private node, for commands about images. */
export interface NodeRuntime {
  readonly dir: NodeDir;
  /** containerd's socket. */
  readonly socket: string;
  /** Names of the images that the node itself imports at its start. */
  readonly ownImages: readonly string[];
  programs(): Promise<ContainerdPrograms>;
  /** Throws a {@link UserError} with the runtime's message. */
  call<M extends UnaryCriMethod>(method: M, request: CriMethods[M]['request']): Promise<CriMethods[M]['response']>;
}

/** Throws a {@link UserError} when there is no such node, or it is not running. */
export async function nodeRuntime(node: string): Promise<NodeRuntime> {
  requireRoot('image');
  const dir = nodeDir(node);
  const socket = dir.socket('containerd');
  const settings = await readSettings(dir);
  if (settings === undefined) throw noSuchNode(node);
  if (!existsSync(socket))
    throw new UserError(`the runtime of node ${node} is not running: start it with ${upCommand(node)}`);
  return {
    dir,
    socket,
    ownImages: settings.images.map(({ reference }) => reference),
    programs: () => findContainerd(settings.containerd),
    call: (method, request) =>
      callCriOnce(socket, method, request).catch((error: unknown) => {
        const { details } = error as { details?: string };
        throw new UserError(`${method}: ${details ?? toError(error).message}`, { cause: error });
      }),
  };
}
