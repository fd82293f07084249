import { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';
import { Client, Metadata, credentials } from '@grpc/grpc-js';

/** Labels as CRI callers set them, and containerd's own `io.cri-containerd.kind` (`sandbox` or `container`). */
export type Labels = Readonly<Record<string, string>>;

/** Asks containerd itself about containers: unlike CRI, it names sandboxes and containers in the same way. */
export interface ContainerLabels {
  /** The labels of a container or sandbox; undefined when it has been removed, or when containerd does not answer. */
  of(id: string): Promise<Labels | undefined>;
  close(): void;
}

export function openContainerLabels(socket: string): ContainerLabels {
  const client = new Client(`unix:${socket}`, credentials.createInsecure());
  const namespace = new Metadata();
  namespace.set('containerd-namespace', 'k8s.io');
  const method = '/containerd.services.containers.v1.Containers/Get';
  return {
    of: (id) =>
      new Promise((resolve) => {
        client.makeUnaryRequest(method, encodeGet, decodeLabels, id, namespace, (_, labels) => resolve(labels));
      }),
    close: () => client.close(),
  };
}

/** GetContainerRequest: 1 id. */
function encodeGet(id: string): Buffer {
  return Buffer.from(new BinaryWriter().uint32(delimited(1)).string(id).finish());
}

/** GetContainerResponse: 1 container; Container: 2 labels, a map (1 key, 2 value). Other fields are skipped. */
function decodeLabels(response: Uint8Array): Labels {
  const [container] = fields(response, 1);
  const labels = container ? fields(container, 2) : [];
  return Object.fromEntries(
    labels.map((entry) => [1, 2].map((field) => Buffer.concat(fields(entry, field)).toString()) as [string, string]),
  );
}

/** The contents of every occurrence of a length-delimited field. */
function fields(message: Uint8Array, field: number): Uint8Array[] {
  const reader = new BinaryReader(message);
  const found: Uint8Array[] = [];
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    if (number === field) {
      found.push(reader.bytes());
    } else {
      reader.skip(wireType, number);
    }
  }
  return found;
}

function delimited(field: number): number {
  return field * 8 + 2;
}
