import {
  type AnyCommand,
  type AnyDeclaration,
  type AnyEvent,
  type AnyFact,
  type ServiceContract,
  type ServiceName,
  everyServiceReads,
  faultContracts,
  instanceJournal,
  refusedMessage,
  serviceContracts,
  serviceInstance,
  serviceNames,
} from '@kubus/contracts';

/** The node of the tests. */
export const NODE = 'n';

/** A subject, and the services with access to it. All others must be refused. */
export interface Probe {
  readonly subject: string;
  readonly publish: readonly ServiceName[];
  readonly subscribe: readonly ServiceName[];
}

const BUCKET = 'KV_kubus_n';
const RECORD = 'KUBUS_n';
const FOREIGN = 'OTHER';
const nobody: readonly ServiceName[] = [];
const people: readonly ServiceName[] = ['cli'];
/** The services that may read the record. */
const recordReaders: readonly ServiceName[] = ['cli', 'observatory'];
const services = serviceNames.filter((name) => name !== 'cli');

type Contracts = Readonly<Record<ServiceName, ServiceContract>>;
type List = 'owns' | 'reads' | 'serves' | 'calls' | 'publishes' | 'hears';

/** The services that have a declaration in one of their lists. */
type Listing = (list: List, declaration: unknown) => ServiceName[];

/** The services that a declaration names, if the contracts contain it at all: fault messages are not part of them on a node without faults. */
function named(listing: Listing, list: List, declaration: AnyDeclaration, name: string): ServiceName[] {
  return listing(list, declaration).length === 0 ? [] : [name as ServiceName];
}

// Everything that is declared, so that subjects that the node does not have are tried as well.
const all = Object.values(faultContracts);
const facts = unique<AnyFact>(all.flatMap(({ owns, reads }) => [...owns, ...reads]));
const commands = unique<AnyCommand>(all.flatMap(({ serves, calls }) => [...serves, ...calls]));
const events = unique<AnyEvent>(all.flatMap(({ publishes, hears }) => [...publishes, ...hears]));

/**
 * Every declared subject and every JetStream subject, with its rule. Writers are taken from the declarations'
 * own owner, server and publisher, readers from the services' lists; subjects are written out, so that nothing here
 * depends on the code under test.
 */
export function probes(contracts: Contracts = serviceContracts): Probe[] {
  const listing: Listing = (list, declaration) =>
    serviceNames.filter((name) => (contracts[name][list] as readonly unknown[]).includes(declaration));
  const list = [
    ...facts.filter((fact) => fact !== serviceInstance).flatMap((fact) => factProbes(fact, listing)),
    ...announcementProbes(),
    ...commands.flatMap((command) => commandProbes(command, listing)),
    ...replyProbes(contracts),
    ...events.flatMap((event) => eventProbes(event, listing)),
    ...refusalProbes(),
    ...journalProbes(),
    ...inboxProbes(),
    ...discoveryProbes(),
    ...jetStreamProbes(),
    ...hubProbes(),
    ...wideProbes(),
  ];
  return [...new Map(list.map((probe) => [probe.subject, probe])).values()];
}

function factProbes(fact: AnyFact, listing: Listing): Probe[] {
  const name = `${fact.area}.fact.${fact.name}`;
  const owner = named(listing, 'owns', fact, fact.owner);
  const readers = [
    ...new Set([...owner, ...listing('reads', fact), ...(everyServiceReads.includes(fact) ? serviceNames : [])]),
  ];
  return [
    { subject: `$KV.kubus_n.${name}.k`, publish: owner, subscribe: nobody },
    { subject: `$KV.kubus_n.${name}.=complete.${fact.owner}-0`, publish: owner, subscribe: nobody },
    { subject: `$KV.kubus_n.${name}`, publish: nobody, subscribe: nobody },
    { subject: `$KV.kubus_other.${name}.k`, publish: nobody, subscribe: nobody },
    // Readers' copies: only the broker itself writes these.
    ...['k', '>'].map((key) => ({
      subject: `kubus.n.${name}.${key}`,
      publish: nobody,
      subscribe: [...readers, ...people],
    })),
    { subject: `kubus.other.${name}.k`, publish: nobody, subscribe: nobody },
    ...['k', '>'].map((key) => ({
      subject: `STREAMS.API.CONSUMER.CREATE.${BUCKET}.c.$KV.kubus_n.${name}.${key}`,
      publish: readers,
      subscribe: nobody,
    })),
    { subject: `$JS.API.DIRECT.GET.${BUCKET}.$KV.kubus_n.${name}.k`, publish: nobody, subscribe: nobody },
    {
      subject: `STREAMS.API.CONSUMER.CREATE.${RECORD}.c.kubus.n.${name}.k`,
      publish: recordReaders,
      subscribe: nobody,
    },
  ];
}

/** `service.fact.instance`: each instance writes its own key, every service reads. */
function announcementProbes(): Probe[] {
  return [
    ...serviceNames.flatMap((name) => {
      const own = name === 'cli' ? nobody : [name];
      return [
        { subject: `$KV.kubus_n.service.fact.instance.${name}-0`, publish: own, subscribe: nobody },
        { subject: `$KV.kubus_n.service.fact.instance.${name}-1`, publish: nobody, subscribe: nobody },
        { subject: `$KV.kubus_n.service.fact.instance.=complete.${name}-0`, publish: own, subscribe: nobody },
        { subject: `kubus.n.service.fact.instance.${name}-0`, publish: nobody, subscribe: serviceNames },
      ];
    }),
    {
      subject: `STREAMS.API.CONSUMER.CREATE.${BUCKET}.c.$KV.kubus_n.service.fact.instance.>`,
      publish: serviceNames,
      subscribe: nobody,
    },
  ];
}

function commandProbes(command: AnyCommand, listing: Listing): Probe[] {
  const name = `${command.area}.cmd.${command.name}`;
  const readers = [...named(listing, 'serves', command, command.server), ...people];
  const callers = listing('calls', command);
  const tried = serviceNames.filter((one) => faultContracts[one].calls.includes(command) || one === command.server);
  return [
    // Each caller sends it only under its own name, and the server not at all.
    ...tried.map((caller) => ({
      subject: `kubus.n.${name}.k.${caller}.${caller}-0`,
      publish: callers.filter((one) => one === caller),
      subscribe: readers,
    })),
    ...callers.map((caller) => ({
      subject: `kubus.n.${name}.k.${caller}.${caller}-1`,
      publish: caller === 'cli' ? people : nobody,
      subscribe: readers,
    })),
    { subject: `kubus.n.${name}.k`, publish: nobody, subscribe: readers },
    { subject: `kubus.n.${name}.>`, publish: nobody, subscribe: readers },
    { subject: `kubus.other.${name}.k.${command.server}.${command.server}-0`, publish: nobody, subscribe: nobody },
  ];
}

/** Replies to a service are sent by those whose commands it calls; only the instance itself and command line programs read them. */
function replyProbes(contracts: Contracts): Probe[] {
  return serviceNames.flatMap((name) => {
    const servers = [...new Set(contracts[name].calls.map(({ server }) => server))];
    const own = name === 'cli' ? nobody : [name];
    return [
      ...serviceNames.map((server) => {
        // Each server sends them only under its own name.
        const publish = servers.filter((one) => one === server);
        return { subject: `kubus.n.reply.${name}.${name}-0.k.${server}`, publish, subscribe: [...own, ...people] };
      }),
      ...servers.map((server) => {
        return { subject: `kubus.n.reply.${name}.${name}-1.k.${server}`, publish: [server], subscribe: people };
      }),
      { subject: `kubus.n.reply.${name}.${name}-0.k`, publish: nobody, subscribe: people },
      { subject: `kubus.n.reply.${name}.>`, publish: nobody, subscribe: people },
      { subject: `kubus.other.reply.${name}.${name}-0.k.launcher`, publish: nobody, subscribe: nobody },
    ];
  });
}

function eventProbes(event: AnyEvent, listing: Listing): Probe[] {
  const name = `${event.area}.event.${event.name}`;
  const publishers = listing('publishes', event);
  if (event.publisher === 'each') {
    // Each with its own instance.
    return [
      { subject: `kubus.n.${name}.k`, publish: nobody, subscribe: people },
      ...serviceNames.map((service) => ({
        subject: `kubus.n.${name}.${service}-0`,
        publish: publishers.filter((one) => one === service),
        subscribe: people,
      })),
    ];
  }
  const publish = named(listing, 'publishes', event, event.publisher);
  return [
    { subject: `kubus.n.${name}.k`, publish, subscribe: [...listing('hears', event), ...people] },
    { subject: `kubus.other.${name}.k`, publish: nobody, subscribe: nobody },
  ];
}

function refusalProbes(): Probe[] {
  const name = `kubus.n.${refusedMessage.area}.event.${refusedMessage.name}`;
  return [
    // Command line programs share one identity, but have their own instance names.
    { subject: `${name}.cli-17-c0ffee`, publish: people, subscribe: people },
    ...services.map((service) => ({
      subject: `${name}.${service}-0`,
      publish: [service, ...people],
      subscribe: people,
    })),
  ];
}

function journalProbes(): Probe[] {
  const name = `kubus.n.${instanceJournal.area}.event.${instanceJournal.name}`;
  return services.map((service) => ({ subject: `${name}.${service}-0`, publish: [service], subscribe: people }));
}

/** The broker answers into inboxes regardless of permissions; among the services, only command line programs get answers, to discovery. */
function inboxProbes(): Probe[] {
  return serviceNames.flatMap((name) => [
    { subject: `_INBOX.${name}-0.x`, publish: name === 'cli' ? services : nobody, subscribe: [name] },
    { subject: `_INBOX.${name}-0.load.x`, publish: name === 'cli' ? services : nobody, subscribe: [name] },
    { subject: `_INBOX.${name}-1.x`, publish: nobody, subscribe: nobody },
  ]);
}

function discoveryProbes(): Probe[] {
  return ['PING', 'INFO', 'STATS'].flatMap((verb) => [
    { subject: `$SRV.${verb}`, publish: people, subscribe: services },
    ...serviceNames.flatMap((name) => {
      const own = name === 'cli' ? nobody : [name];
      return [
        { subject: `$SRV.${verb}.${name}`, publish: people, subscribe: own },
        { subject: `$SRV.${verb}.${name}.${name}-0`, publish: people, subscribe: own },
        { subject: `$SRV.${verb}.${name}.${name}-1`, publish: people, subscribe: nobody },
      ];
    }),
  ]);
}

/**
 * The JetStream API of nats-server 2.9 to 2.12, under its own name and under that of the part for services. Without a rule here, no service
 * has access.
 */
function jetStreamProbes(): Probe[] {
  const allowed = new Map<string, readonly ServiceName[]>([
    [`STREAMS.API.STREAM.INFO.${BUCKET}`, serviceNames],
    [`STREAMS.API.STREAM.INFO.${RECORD}`, ['observatory']],
    [`STREAMS.API.CONSUMER.MSG.NEXT.${RECORD}.c`, ['observatory']],
    [`STREAMS.API.CONSUMER.CREATE.${RECORD}.c.kubus.n.>`, recordReaders],
  ]);
  const ofAccount = [
    ...['INFO', 'STREAM.NAMES', 'STREAM.LIST', 'STREAM.TEMPLATE.NAMES', 'SERVER.REMOVE', 'META.LEADER.STEPDOWN'],
    ...['ACCOUNT.PURGE.$G', 'ACCOUNT.STREAM.MOVE.$G.s', 'ACCOUNT.STREAM.CANCEL_MOVE.$G.s'],
  ].map((call) => `$JS.API.${call}`);
  const ofStream = [BUCKET, RECORD, FOREIGN, 'KV_kubus_other'].flatMap((stream) => [
    ...['CREATE', 'UPDATE', 'INFO', 'DELETE', 'PURGE', 'SNAPSHOT', 'RESTORE', 'LEADER.STEPDOWN', 'PEER.REMOVE'].map(
      (call) => `$JS.API.STREAM.${call}.${stream}`,
    ),
    ...['MSG.GET', 'MSG.DELETE', 'TEMPLATE.CREATE', 'TEMPLATE.INFO', 'TEMPLATE.DELETE'].map(
      (call) => `$JS.API.STREAM.${call}.${stream}`,
    ),
    ...['CREATE', 'LIST', 'NAMES'].map((call) => `$JS.API.CONSUMER.${call}.${stream}`),
    ...['CREATE', 'DURABLE.CREATE', 'DELETE', 'INFO', 'MSG.NEXT', 'PAUSE', 'UNPIN', 'RESET', 'LEADER.STEPDOWN'].map(
      (call) => `$JS.API.CONSUMER.${call}.${stream}.c`,
    ),
    ...['$KV.kubus_n.>', '$KV.>', 'kubus.n.>', 'kubus.>', '>'].map(
      (filter) => `$JS.API.CONSUMER.CREATE.${stream}.c.${filter}`,
    ),
    `$JS.API.DIRECT.GET.${stream}`,
    `$JS.API.DIRECT.GET.${stream}.kubus.n.x`,
    `$JS.ACK.${stream}.c.1.1.1.1.1`,
    `$JS.FC.${stream}.c.x`,
    `$JS.SNAPSHOT.ACK.${stream}.x`,
  ]);
  const calls = [...ofAccount, ...ofStream];
  const ofServices = calls.map((subject) => subject.replace('$JS.API', 'STREAMS.API'));
  return [...calls, ...ofServices].map((subject) => ({
    subject,
    publish: allowed.get(subject) ?? nobody,
    subscribe: nobody,
  }));
}

/** A stream in the account for a hub is made by no service; the server's domain gives none access beyond its own account. */
function hubProbes(): Probe[] {
  const stream = 'EVENTS_n_1';
  const refused = [
    ...['STREAM.NAMES', `STREAM.CREATE.${stream}`].map((call) => `HUB.API.${call}`),
    ...['INFO', 'STREAM.LIST', `STREAM.DELETE.${stream}`, `CONSUMER.CREATE.${stream}`].map((call) => `HUB.API.${call}`),
    ...[`STREAM.DELETE.${RECORD}`, `CONSUMER.CREATE.${RECORD}`].map((call) => `$JS.n.API.${call}`),
    'kubus-hub.n.x',
  ];
  return refused.map((subject) => ({ subject, publish: nobody, subscribe: nobody }));
}

/** Patterns that would cover more than one permission, and the broker's own subjects. */
function wideProbes(): Probe[] {
  const forbidden = [
    ...['>', '*', '*.*.*.*.*.*', 'kubus.>', 'kubus.*.>', 'kubus.other.>'],
    ...['_INBOX.>', '_INBOX.*.x', '$SRV.>', '$SRV.*', '$JS.>', '$JS.API.>', '$JS.API.STREAM.DELETE.*'],
    ...[
      '$JS.EVENT.>',
      '$JS.EVENT.ADVISORY.API',
      '$JS.EVENT.METRIC.x',
      '$KV.>',
      '$KV.kubus_n.>',
      '$KV.kubus_n.config.>',
    ],
    ...['$SYS.>', '$SYS.REQ.USER.INFO', '$SYS.REQ.ACCOUNT.PING.CONNZ', '$O.x', '$MQTT.x', 'anything'],
  ];
  const ofNode = ['>', '*.*.*.k', '*.cmd.>', '*.event.>', 'reply.>', 'config.>', 'runtime.>', 'runtime.cmd.*.k'];
  return [
    ...forbidden.map((subject) => ({ subject, publish: nobody, subscribe: nobody })),
    ...ofNode.map((tail) => ({ subject: `kubus.n.${tail}`, publish: nobody, subscribe: people })),
    // Literal subjects that are not declared.
    ...['runtime.cmd.Unknown.k', 'config.fact.unknown.k', 'config.event.unknown.k', 'config.cmd.file.k'].map(
      (tail) => ({ subject: `kubus.n.${tail}`, publish: nobody, subscribe: people }),
    ),
    { subject: '$KV.kubus_n.config.fact.unknown.k', publish: nobody, subscribe: nobody },
  ];
}

function unique<T>(items: readonly T[]): T[] {
  return [...new Set(items)];
}
