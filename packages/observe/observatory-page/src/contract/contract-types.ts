type Fields = Readonly<Record<string, unknown>>;

/** A type of message in the contract. */
export interface ContractType {
  /** `worker.fact.status/1` */
  readonly type: string;
  readonly area: string;
  readonly kind: string;
  readonly about: string;
  readonly subject: string;
  readonly senders: readonly string[];
  readonly receivers: readonly string[];
  /** JSON Schema with references into the document; undefined where there is none. */
  readonly payload: unknown;
  /** Of a command: schema of its result. */
  readonly result: unknown;
}

export interface Contract {
  readonly title: string;
  readonly version: string;
  /** The protocol, as Markdown. */
  readonly protocol: string;
  readonly types: readonly ContractType[];
  /** The targets of references. */
  readonly resolve: (schema: unknown) => unknown;
}

/** Reads an AsyncAPI 3.0 document, as far as its channels, operations, messages and schemas go. */
export function readContract(document: unknown): Contract {
  const root = fields(document);
  const info = fields(root['info']);
  const resolve = (value: unknown): unknown => resolved(root, value);
  const messages = fields(fields(root['components'])['messages']);
  const operations = Object.values(fields(root['operations'])).map(fields);
  const channels = Object.entries(fields(root['channels']));
  const types = channels.flatMap(([name, value]): ContractType[] => {
    const channel = fields(value);
    const message = fields(messages[name]);
    const type = text(message['name']);
    const [area = '', kind = ''] = type.split('.');
    // Stores and replies are further channels of the same message.
    if (type === '' || !text(channel['address']).includes(`.${area}.${kind}.`)) return [];
    const who = (action: string): string[] => servicesThat(operations, action, [name, `${name}.store`]);
    const result = messages[name.replace(`.${kind}.`, '.reply.')];
    return [
      {
        type,
        area,
        kind,
        about: text(channel['summary']),
        subject: text(channel['address']),
        senders: who('send'),
        receivers: who('receive'),
        payload: message['payload'],
        result: kind === 'cmd' ? fields(result)['payload'] : undefined,
      },
    ];
  });
  return {
    title: text(info['title']),
    version: text(info['version']),
    protocol: text(info['description']),
    types: types.sort((a, b) => a.type.localeCompare(b.type)),
    resolve,
  };
}

function servicesThat(operations: readonly Fields[], action: string, channels: readonly string[]): string[] {
  const names = operations
    .filter((one) => one['action'] === action)
    .filter((one) => channels.some((channel) => fields(one['channel'])['$ref'] === `#/channels/${channel}`))
    .flatMap((one) => listOf(one['tags']))
    .map((tag) => text(fields(tag)['name']));
  return [...new Set(names)].sort();
}

/** Follows references within the document; a dangling or circular reference stays unchanged. */
function resolved(root: Fields, value: unknown): unknown {
  let found = value;
  for (let steps = 0; steps < 10; steps++) {
    const reference = fields(found)['$ref'];
    if (typeof reference !== 'string' || !reference.startsWith('#/')) return found;
    const place = reference
      .slice(2)
      .split('/')
      .reduce<unknown>((node, key) => fields(node)[key.replaceAll('~1', '/').replaceAll('~0', '~')], root);
    if (place === undefined) return found;
    found = place;
  }
  return found;
}

export function fields(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
