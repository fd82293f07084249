import { KUBERNETES_MINOR, nodeVersion } from '@kubus/node-status';
import { timeOfMs } from '@kubus/pod';
import { version } from '@kubus/service-kit';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { readFile } from 'node:fs/promises';
import { get, sendText } from '../server/routes.ts';

export interface ZpagesOptions {
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly now: () => number;
  /** The file with the values of the flags by name, JSON. Omitted: the node has no flags, and no /flagz. */
  readonly flagz: string | undefined;
}

const GROUP = 'config.k8s.io';
const versions = ['v1beta1', 'v1alpha1'] as const;
type Version = (typeof versions)[number];

const header = (page: string) => `
kubelet ${page}
Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.
`;

/**
 * Describes the process and how it was started, as text for people and as a document for programs (KEP-4827,
 * KEP-4828).
 */
export function addZpages(app: FastifyInstance, { startedAt, now, flagz }: ZpagesOptions): void {
  get(app, '/statusz', async (request, reply) => {
    const status = {
      startTime: timeOfMs(startedAt),
      uptimeSeconds: Math.max(0, Math.floor((now() - startedAt) / 1000)),
      binaryVersion: nodeVersion(version),
      emulationVersion: KUBERNETES_MINOR,
      paths: ['/configz', '/healthz', '/metrics', '/pods'],
    };
    return answer(request, reply, { kind: 'Statusz', content: status, text: () => statusText(status, startedAt) });
  });
  if (flagz === undefined) return;
  get(app, '/flagz', async (request, reply) => {
    const flags = JSON.parse(await readFile(flagz, 'utf8')) as Record<string, string>;
    const lines = Object.keys(flags)
      .sort()
      .map((name) => `${name}=${flags[name] ?? ''}\n`);
    return answer(request, reply, { kind: 'Flagz', content: { flags }, text: () => header('flagz') + lines.join('') });
  });
}

interface Status {
  readonly uptimeSeconds: number;
  readonly binaryVersion: string;
  readonly emulationVersion: string;
  readonly paths: readonly string[];
}

function statusText({ uptimeSeconds, binaryVersion, emulationVersion, paths }: Status, startedAt: number): string {
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0');
  return `${header('statusz')}
Started: ${new Date(startedAt).toUTCString()}
Up: ${Math.floor(uptimeSeconds / 3600)} hr ${two((uptimeSeconds % 3600) / 60)} min ${two(uptimeSeconds % 60)} sec
Node.js version: ${process.version}
Binary version: ${binaryVersion}
Emulation version: ${emulationVersion}
Paths: ${paths.join(' ')}
`;
}

interface Page {
  readonly kind: string;
  readonly content: object;
  readonly text: () => string;
}

function answer(request: FastifyRequest, reply: FastifyReply, { kind, content, text }: Page): FastifyReply {
  const form = wantedForm(request.headers.accept, kind);
  if (form === 'text') return sendText(reply, 200, text());
  if (form === undefined) {
    const known = ['text/plain', ...versions.map((one) => `application/json;v=${one};g=${GROUP};as=${kind}`)];
    return sendText(reply, 406, `only the following media types are accepted: ${known.join(', ')}\n`);
  }
  if (form === 'v1alpha1') {
    const page = kind.toLowerCase();
    reply.header('warning', `299 - "This version of the ${page} endpoint is deprecated. Please use a newer version."`);
  }
  const document = { kind, apiVersion: `${GROUP}/${form}`, metadata: { name: 'kubelet' }, ...content };
  return reply.type('application/json').send(JSON.stringify(document));
}

/**
 * The format in which a page is requested. JSON without its kind and version does not count, as in the reference, so that
 * `kubectl get --raw`, which accepts JSON or anything, shows text.
 *
 * @param accept the Accept header
 */
function wantedForm(accept: string | undefined, kind: string): 'text' | Version | undefined {
  if (accept === undefined || accept.trim() === '') return 'text';
  const ranges = accept.split(',').map((range) => {
    const [type = '', ...rest] = range.split(';').map((part) => part.trim());
    const parameters = new Map(rest.map((part) => [part.split('=')[0] ?? '', part.split('=').slice(1).join('=')]));
    return { type: type.toLowerCase(), parameters, weight: Number(parameters.get('q') ?? '1') };
  });
  for (const { type, parameters, weight } of ranges.sort((one, other) => other.weight - one.weight)) {
    const asks = ['as', 'g', 'v'].some((name) => parameters.has(name));
    if (weight > 0 && !asks && ['text/plain', 'text/*', '*/*'].includes(type)) return 'text';
    const found = versions.find((one) => one === parameters.get('v'));
    const named = parameters.get('as') === kind && parameters.get('g') === GROUP;
    if (weight > 0 && named && found !== undefined && ['application/json', 'application/*', '*/*'].includes(type))
      return found;
  }
  return undefined;
}
