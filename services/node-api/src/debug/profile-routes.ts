import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Session } from 'node:inspector/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { queryOf, sendText } from '../server/routes.ts';

/** Default duration of a profile in seconds; that of the CPU profile is the reference's. */
const CPU_SECONDS = 30;
const HEAP_SECONDS = 5;
/** The limit, in seconds: a longer profile is not useful, and it is held in memory. */
const MOST_SECONDS = 300;

type Kind = 'profile' | 'heap';

const about: Readonly<Record<Kind, string>> = {
  profile: 'where processor time is spent; seconds=30 sets for how long',
  heap: 'what is allocated and stays in use; seconds=5 sets for how long',
};

/** Profiles of this process in the format of `go tool pprof`, from V8 (behaviour:http-api). */
export function addProfileRoutes(app: FastifyInstance, enabled: boolean): void {
  const path = '/debug/pprof';
  if (!enabled) {
    for (const each of [path, `${path}/*`]) {
      app.all(each, (_request, reply) => sendText(reply, 405, 'profiling endpoint is disabled.\n'));
    }
    return;
  }
  let busy = false;
  const serve = (kind: Kind) => {
    app.all(`${path}/${kind}`, async (request, reply) => {
      if (busy) return sendText(reply, 500, 'Could not enable profiling: another profile is being made\n');
      const seconds = Number(queryOf(request)['seconds']?.at(0) ?? 0);
      const initial = kind === 'profile' ? CPU_SECONDS : HEAP_SECONDS;
      busy = true;
      const disconnected = new AbortController();
      reply.raw.once('close', () => disconnected.abort());
      try {
        const ms = Math.min(seconds > 0 ? seconds : initial, MOST_SECONDS) * 1000;
        const bytes = await (kind === 'profile' ? cpuProfile : heapProfile)(ms, disconnected.signal);
        reply.header('content-disposition', `attachment; filename="${kind}"`);
        return await reply.type('application/octet-stream').send(bytes);
      } catch (error) {
        if (disconnected.signal.aborted) return await reply.send();
        throw error;
      } finally {
        busy = false;
      }
    });
  };
  serve('profile');
  serve('heap');
  app.all(`${path}/cmdline`, (_request, reply) => sendText(reply, 200, process.argv.join('\0')));
  app.all(path, (_request, reply) => index(reply));
  app.all(`${path}/*`, (_request, reply) => sendText(reply, 404, 'Unknown profile\n'));
}

function index(reply: FastifyReply): FastifyReply {
  const lines = Object.entries(about).map(([kind, text]) => `<li><a href="./${kind}">${kind}</a>: ${text}</li>`);
  const list = [...lines, '<li><a href="./cmdline">cmdline</a>: the command line</li>'].join('\n');
  return reply
    .type('text/html; charset=utf-8')
    .send(`<!doctype html>\n<title>/debug/pprof/</title>\n<h1>Profiles of node-api</h1>\n<ul>\n${list}\n</ul>\n`);
}

/** Rejects with an AbortError when the client has disconnected. */
async function cpuProfile(ms: number, disconnected: AbortSignal): Promise<Uint8Array> {
  return withSession(async (session) => {
    await session.post('Profiler.enable');
    await session.post('Profiler.start');
    await wait(ms, undefined, { signal: disconnected });
    const { profile } = await session.post('Profiler.stop');
    return (await import('./pprof.ts')).cpuPprof(profile);
  });
}

async function heapProfile(ms: number, disconnected: AbortSignal): Promise<Uint8Array> {
  return withSession(async (session) => {
    await session.post('HeapProfiler.startSampling');
    await wait(ms, undefined, { signal: disconnected });
    const { profile } = await session.post('HeapProfiler.stopSampling');
    return (await import('./pprof.ts')).heapPprof(profile);
  });
}

/** The end of a session ends its profile. The inspector is loaded for the first profile. */
async function withSession(use: (session: Session) => Promise<Uint8Array>): Promise<Uint8Array> {
  const inspector = await import('node:inspector/promises');
  const session = new inspector.Session();
  session.connect();
  try {
    return await use(session);
  } finally {
    session.disconnect();
  }
}
