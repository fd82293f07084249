import { ContainerNode, composeServices, findDocker } from '@kubus/harness';

/**
 * Measures the cost of a node of containers and the downtime of killed services: docker-compose.yml on a Docker
 * engine of its own. Started as `pnpm --filter @kubus/bench containers`, as root, with nothing else running.
 */
const programs = await findDocker();
if ('missing' in programs) {
  console.error(programs.missing);
  process.exit(1);
}
/** Shell functions: the port that install has assigned to a service, and whether it is ready. `$0` is the node. */
const ready = [
  `port_of() { sed -n "s/^ *\\"$1-0\\": \\([0-9]*\\),*\\$/\\1/p" "/var/lib/kubus/$0/containers/config/node.json" 2>/dev/null; }`,
  'answers() { curl --silent --fail --max-time 2 --output /dev/null "http://127.0.0.1:$1/readyz"; }',
].join('; ');
const node = await ContainerNode.start(programs);
/** The launcher serves no HTTP. */
const services = composeServices.filter((name) => name !== 'launcher');

try {
  const began = performance.now();
  const serving = untilServing();
  await node.compose('up', '--detach', '--no-build', ...services, 'launcher', 'nats', 'images');
  await serving;
  console.log(`docker compose up to every service ready: ${seconds(performance.now() - began)}`);
  for (const image of ['kubus-test', 'kubus-test-debian']) {
    const size = await node.engine.docker(['image', 'inspect', '--format', '{{.Size}}', image]);
    console.log(`image ${image}: ${(Number(size) / 1e6).toFixed(0)} MB`);
  }
  let sum = 0;
  for (const service of [...composeServices, 'nats', 'containerd']) {
    const keeper = await node.keeper(service);
    const served = service === 'nats' ? undefined : await node.served(service);
    const [own, program] = [await pssOf(keeper), served === undefined ? 0 : await pssOf(served)];
    sum += own + program;
    console.log(`${service}: ${(own + program).toFixed(1)} MiB, ${own.toFixed(1)} of them process 1`);
  }
  console.log(`together: ${sum.toFixed(0)} MiB (PSS)`);
  const gaps = { program: [] as number[], keeper: [] as number[] };
  for (const service of services) {
    gaps.program.push(await awayAfter(service, (await node.served(service)) ?? 0));
    gaps.keeper.push(await awayAfter(service, await node.keeper(service)));
  }
  console.log(`service killed to its /readyz: ${summary(gaps.program)}`);
  console.log(`process 1 killed to its /readyz: ${summary(gaps.keeper)}`);
} finally {
  await node.stop();
}

/** Resolves when all answer. */
async function untilServing(): Promise<void> {
  const look = 'for name in "$@"; do until answers "$(port_of "$name")"; do sleep 0.02; done; done';
  await node.engine.onMachine('sh', '-c', `${ready}; ${look}`, node.name, ...services);
}

/** Milliseconds from the end of the process until the service answers again. */
async function awayAfter(service: string, pid: number): Promise<number> {
  const kill =
    'port=$(port_of "$1"); start=$(date +%s%3N); kill -KILL "$2"; while kill -0 "$2" 2>/dev/null; do :; done';
  const wait = 'until answers "$port"; do sleep 0.01; done; echo $(($(date +%s%3N) - start))';
  return Number(await node.engine.onMachine('sh', '-c', `${ready}; ${kill}; ${wait}`, node.name, service, String(pid)));
}

async function pssOf(pid: number): Promise<number> {
  const text = await node.engine.onMachine('cat', `/proc/${pid}/smaps_rollup`);
  return Number(/^Pss: +(\d+) kB$/m.exec(text)?.[1] ?? 0) / 1024;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

function summary(times: readonly number[]): string {
  const sorted = [...times].sort((one, other) => one - other);
  return `${sorted[Math.floor(sorted.length / 2)]} ms in the median, ${sorted.at(-1)} ms at most, of ${sorted.length}`;
}
