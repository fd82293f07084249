import type { Bus, CommandContext } from '@kubus/bus';
import {
  type BusCriMethod,
  type CriRequest,
  type CriResult,
  type SealedText,
  criCommands,
  fencedMethods,
} from '@kubus/contracts';
import type { UnaryCriMethod } from '@kubus/proto/cri';
import type { SealKey } from '@kubus/service-kit';
import * as z from 'zod';
import type { Runtime } from './runtime.ts';
import { toReplyError } from './reply-error.ts';
import type { Stamps } from './stamps.ts';

const commandSchema = z.array(z.string());

/** Default number of items in a page of a list: well below a message of 8 MiB. */
const PAGE = 100;

interface List {
  /** The field of the answer that holds the items. */
  readonly field: string;
  /** The unique id of an item. */
  readonly id: (item: object) => string;
}

const byId = (item: object) => (item as { id?: string }).id ?? '';
const byAttributes = (item: object) => (item as { attributes?: { id?: string } }).attributes?.id ?? '';
const bySandbox = (item: object) => (item as { podSandboxId?: string }).podSandboxId ?? '';

const lists: { readonly [M in UnaryCriMethod]?: List } = {
  ListPodSandbox: { field: 'items', id: byId },
  ListContainers: { field: 'containers', id: byId },
  ListImages: { field: 'images', id: byId },
  ListContainerStats: { field: 'stats', id: byAttributes },
  ListPodSandboxStats: { field: 'stats', id: byAttributes },
  ListPodSandboxMetrics: { field: 'podMetrics', id: bySandbox },
};

/** Serves every other unary CRI call: reads, streaming addresses, removal of images. They do not queue; lists come in pages. */
export function servePlainCommands(options: { bus: Bus; runtime: Runtime; stamps: Stamps; key: SealKey }): void {
  const { bus, runtime, stamps, key } = options;
  const serve = <M extends BusCriMethod>(method: M) => {
    bus.serve(criCommands[method], async (command: CommandContext<CriRequest<M>>): Promise<CriResult<M>> => {
      const { page, output, reader } = command.request;
      const params = openCommand<M>(command.request, key);
      command.begin();
      const answer = await runtime.call(method, params).catch((error: unknown) => {
        throw toReplyError(error);
      });
      const { response, next } = pageOf(method, answer, page);
      return {
        ...sealUrl(cutOutput(response, output), key, reader),
        at: stamps.next(),
        ...(next !== undefined && { next }),
      };
    });
  };
  const fenced: readonly string[] = fencedMethods;
  for (const method of Object.keys(criCommands) as BusCriMethod[]) {
    if (!fenced.includes(method)) serve(method);
  }
}

/** Leaves of the output of a command what its caller shows: the first `bytes` bytes if it failed, else nothing. */
export function cutOutput<Response extends object>(response: Response, bytes: number | undefined): Response {
  if (bytes === undefined) return response;
  const {
    stdout = '',
    stderr = '',
    exitCode = 0,
  } = response as { stdout?: string; stderr?: string; exitCode?: number };
  const left = exitCode === 0 ? 0 : bytes;
  const first = Buffer.from(stdout, 'base64').subarray(0, left);
  const second = Buffer.from(stderr, 'base64').subarray(0, left - first.length);
  return { ...response, stdout: first.toString('base64'), stderr: second.toString('base64') };
}

/**
 * The parameters of a call, with the command that was sealed for this bridge, if one was.
 *
 * @throws KubusError `not-opened` when it was sealed for another key, or is none.
 */
export function openCommand<M extends BusCriMethod>(
  { params, command }: CriRequest<M>,
  key: SealKey,
): CriRequest<M>['params'] {
  if (command === undefined) return params;
  return { ...params, cmd: commandSchema.parse(JSON.parse(key.open(command))) };
}

/** Takes the address of a stream out of an answer, and seals it for its reader, if one is named. */
export function sealUrl<Response extends object>(
  response: Response,
  key: SealKey,
  reader: string | undefined,
): { response: Response; sealedUrl?: SealedText } {
  const { url } = response as { url?: string };
  if (reader === undefined || url === undefined) return { response };
  return { response: { ...response, url: '' }, sealedUrl: key.seal(url, reader) };
}

/** Cuts one page out of a list, in the order of ids; other answers stay whole. */
export function pageOf<Response extends object>(
  method: UnaryCriMethod,
  response: Response,
  page: CriRequest<UnaryCriMethod>['page'],
): { response: Response; next: string | undefined } {
  const list = lists[method];
  if (list === undefined) return { response, next: undefined };
  const items = [...((response as Record<string, object[] | undefined>)[list.field] ?? [])];
  items.sort((a, b) => (list.id(a) < list.id(b) ? -1 : 1));
  const after = page?.after;
  const rest = after === undefined ? items : items.filter((item) => list.id(item) > after);
  const cut = rest.slice(0, page?.limit ?? PAGE);
  const last = cut.at(-1);
  const next = cut.length < rest.length && last !== undefined ? list.id(last) : undefined;
  return { response: { ...response, [list.field]: cut }, next };
}
