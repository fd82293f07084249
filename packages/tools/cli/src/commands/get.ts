import type { Command } from 'commander';
import { type NodeLink, connectNode } from '../node/node-link.ts';
import { type ObjectFormat, objectFormatOption } from '../output/object-format.ts';
import {
  ObjectTable,
  type PrinterOptions,
  documentOf,
  isTable,
  jsonPathText,
  nameLine,
} from '../output/object-printer.ts';
import { print, printDocument, printError, printText } from '../output/output.ts';
import type { Item, ResourceType } from '../resources/resource-type.ts';
import { itemSelector } from '../resources/select-items.ts';
import { UserError } from '../user-error.ts';
import { type Asked, askedFor, resourceTypes } from '../resources/types.ts';

interface GetOptions {
  readonly namespace?: string;
  readonly allNamespaces?: boolean;
  readonly selector?: string;
  readonly fieldSelector?: string;
  readonly sortBy?: string;
  readonly output?: ObjectFormat;
  readonly headers: boolean;
  readonly showLabels?: boolean;
  readonly watch?: boolean;
}

export function addGet(program: Command): void {
  const get = withOptions(program.command('get'))
    .argument('<type>', 'type, several as TYPE,TYPE, or TYPE/NAME: "kubus api-resources" lists the types')
    .argument('[names...]', 'list only these objects')
    .description('list pods, the node, events or manifests')
    .action(async (type: string, names: string[], _options: object, command: Command) => {
      await run(askedFor([type, ...names]), command);
    });
  for (const type of resourceTypes) {
    withOptions(get.command(type.name))
      .aliases([type.singular, ...type.shortNames])
      .argument('[names...]', 'list only these objects')
      .description(`list ${type.about}`)
      .action(async (names: string[], _options: object, command: Command) => {
        await run(askedFor([type.name, ...names]), command);
      });
  }
}

function withOptions(command: Command): Command {
  return command
    .option('-n, --namespace <namespace>', 'namespace of the objects; default: default')
    .option('-A, --all-namespaces', 'list the objects of all namespaces')
    .option('-l, --selector <selector>', 'only objects with these labels, such as app=web,tier!=front')
    .option('--field-selector <selector>', 'only objects with these fields, such as status.phase=Running')
    .option('--sort-by <path>', 'sort by a field, such as .metadata.creationTimestamp')
    .addOption(objectFormatOption())
    .option('--no-headers', 'print no header')
    .option('--show-labels', 'print a column with the labels')
    .option('-w, --watch', 'keep running and print each change');
}

async function run(asked: readonly Asked[], command: Command): Promise<void> {
  const options = command.optsWithGlobals<GetOptions & { node: string }>();
  const { namespace = 'default', allNamespaces = false, selector, fieldSelector, sortBy, watch } = options;
  const inNamespace = allNamespaces ? undefined : namespace;
  // Selectors are checked before the node is asked.
  const listings = asked.map(({ type, names }): Listing => {
    const select = itemSelector(type, { namespace: inNamespace, names, selector, fieldSelector, sortBy });
    return { type, names: names.length, namespace: inNamespace, select, options };
  });
  if (watch === true && listings.length > 1) throw new UserError('--watch follows one type: name one');
  const link = await connectNode(options.node);
  const [listing] = listings;
  if (listing !== undefined && listings.length === 1) await list(link, listing);
  else await listSeveral(link, listings, options);
}

interface Listing {
  readonly type: ResourceType;
  /** How many objects were named; one is printed itself, not as a list. */
  readonly names: number;
  readonly namespace: string | undefined;
  readonly select: (items: readonly Item[]) => readonly Item[];
  readonly options: GetOptions;
}

async function list(link: NodeLink, { type, names, namespace, select, options }: Listing): Promise<void> {
  const { output, watch = false, headers, showLabels = false } = options;
  const changed = new Set<string>();
  const onChange = { print: () => undefined as unknown };
  const collection = await type.open(link, (key) => {
    changed.add(key);
    onChange.print();
  });
  const items = select(collection.items());
  const printer = printerOf(type, {
    format: output,
    withNamespace: type.isNamespaced && namespace === undefined,
    withLabels: showLabels,
    withoutHeader: !headers,
  });
  if (items.length === 0 && !watch && isTable(output)) {
    const where = type.isNamespaced && namespace !== undefined ? ` in ${namespace} namespace` : '';
    printError(`No resources found${where}.`);
    return;
  }
  if (watch) for (const item of printer.known(items)) printer.change(item);
  else printer.list(items, names === 1);
  if (!watch) return;
  changed.clear();
  const named = new Set(items.map(({ key }) => key));
  onChange.print = () => {
    const now = collection.items().filter(({ key }) => changed.has(key));
    changed.clear();
    // A named object may have been removed meanwhile, which is no error.
    for (const item of names > 0 ? now.filter(({ key }) => named.has(key)) : select(now)) printer.change(item);
  };
  await new Promise(() => undefined);
}

/** Lists several types: a table for each, or one document. */
async function listSeveral(link: NodeLink, listings: readonly Listing[], options: GetOptions): Promise<void> {
  const { output, headers, showLabels = false } = options;
  const parts = await Promise.all(
    listings.map(async ({ type, select, namespace }) => {
      const items = select((await type.open(link, () => undefined)).items());
      const withNamespace = type.isNamespaced && namespace === undefined;
      const shown = { format: output, withNamespace, withLabels: showLabels, withoutHeader: !headers, withType: true };
      return { type, items, table: new ObjectTable(type, shown) };
    }),
  );
  const all = parts.flatMap(({ items }) => items);
  if (!isTable(output)) {
    if (output?.kind === 'json' || output?.kind === 'yaml') printDocument(documentOf(all, false), output.kind);
    else if (output?.kind === 'jsonpath') printText(jsonPathText(output, documentOf(all, false)));
    else for (const { type, items } of parts) for (const item of items) print(nameLine(type, item));
    return;
  }
  const tables = parts.flatMap(({ items, table }) => (items.length === 0 ? [] : table.table(items, Date.now())));
  if (tables.length === 0) printError('No resources found.');
  else print(tables.join('\n\n'));
}

/** How a format prints a list, and one object that has changed. */
interface Printer {
  readonly list: (items: readonly Item[], isOne: boolean) => void;
  /** Prints those from which a watch starts; returns those that still have to be printed one by one. */
  readonly known: (items: readonly Item[]) => readonly Item[];
  readonly change: (item: Item) => void;
}

function printerOf(type: ResourceType, options: PrinterOptions): Printer {
  const { format } = options;
  const each = (change: Printer['change']): Pick<Printer, 'known' | 'change'> => ({ known: (items) => items, change });
  switch (format?.kind) {
    case 'json':
    case 'yaml': {
      const { kind } = format;
      return {
        list: (items, isOne) => printDocument(documentOf(items, isOne), kind),
        ...each(({ object }) => printDocument(object, kind)),
      };
    }
    case 'jsonpath':
      return {
        list: (items, isOne) => printText(jsonPathText(format, documentOf(items, isOne))),
        ...each(({ object }) => printText(jsonPathText(format, object))),
      };
    case 'name': {
      const line = (item: Item) => print(nameLine(type, item));
      return { list: (items) => items.forEach(line), ...each(line) };
    }
    default:
      return tablePrinter(new ObjectTable(type, options));
  }
}

/** A row is printed again only when something other than a time has changed. */
function tablePrinter(table: ObjectTable): Printer {
  const last = new Map<string, string>();
  const list = (items: readonly Item[]) => {
    const text = table.table(items, Date.now());
    if (text !== '') print(text);
    for (const item of items) last.set(item.key, table.fixed(item));
  };
  return {
    list,
    known: (items) => {
      list(items);
      return [];
    },
    change: (item) => {
      const fixed = table.fixed(item);
      if (last.get(item.key) !== fixed) print(table.line(item, Date.now()));
      last.set(item.key, fixed);
    },
  };
}
