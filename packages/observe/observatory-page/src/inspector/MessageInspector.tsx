import type { MessageBrief, MessageDocument } from '@kubus/contracts/observatory';
import { type ReactNode, useState } from 'react';
import { useMessage } from '../api/documents.ts';
import { clock, dateAndTime } from '../format/moment.ts';
import { useZoneChoice, zoneAt } from '../format/zone.ts';
import { bytes, count, counted, duration } from '../format/quantity.ts';
import { walkRows } from '../grid/walk-rows.ts';
import { KindMark } from '../theme/KindMark.tsx';
import { kindNames } from '../theme/kind-shape.ts';
import { colorOf } from '../theme/services.ts';
import { formatRoute } from '../route/route.ts';
import { inspect, useRoute } from '../route/use-route.ts';
import { Reading } from '../shell/Reading.tsx';
import { JsonTree } from './JsonTree.tsx';
import './inspector.css';

interface Props {
  readonly recording: string;
  readonly seq: number;
}

/** One message: its content, its causes and its effects. */
export function MessageInspector({ recording, seq }: Props): ReactNode {
  const route = useRoute();
  const message = useMessage(recording, seq);
  return (
    <aside className="inspector" aria-label="Message">
      <div className="inspector-head">
        <h2>Message {count(seq)}</h2>
        {message.data === undefined ? null : <CopyButton message={message.data} />}
        <button
          type="button"
          aria-label="Close the inspector"
          title="Close (Esc)"
          onClick={() => inspect(route, undefined)}
        >
          ✕
        </button>
      </div>
      <div className="inspector-body" tabIndex={0} role="group" aria-label="Content of the message">
        <Reading of={message} what="the message">
          {(document) => <Whole key={document.seq} message={document} />}
        </Reading>
      </div>
    </aside>
  );
}

function Whole({ message }: { readonly message: MessageDocument }): ReactNode {
  const { recording } = useRoute();
  const zone = useZoneChoice();
  return (
    <>
      <h3 className="inspector-type">
        <KindMark kind={message.kind} color={colorOf(message.service)} /> {message.type}
      </h3>
      <p className="inspector-says">{message.summary}</p>
      <dl className="facts">
        <Fact name="Kind">{kindNames[message.kind]}</Fact>
        <Fact name="From">{message.source}</Fact>
        <Fact name="Published">
          {dateAndTime(message.at).slice(0, 10)} {clock(message.at)} {zoneAt(message.at, zone)}
        </Fact>
        <Fact name="Stored">{duration(message.stored - message.at)} later</Fact>
        {message.heard === undefined ? null : (
          <Fact name="Cause received">{duration(message.at - message.heard)} before</Fact>
        )}
        {message.began === undefined ? null : (
          <Fact name="Work started">{duration(message.at - message.began)} before</Fact>
        )}
        <Fact name="Subject">{message.subject}</Fact>
        <Fact name="Size">{bytes(message.bytes)}</Fact>
        {message.pod === undefined ? null : (
          <Fact name="Pod">
            <a
              href={formatRoute({ recording, view: 'pods', pod: message.pod, query: { message: String(message.seq) } })}
            >
              {message.pod}
            </a>
          </Fact>
        )}
      </dl>
      <Neighbours title="Caused by" of={message} messages={message.causedBy} none={noCause(message)} />
      <Neighbours title="Caused" of={message} messages={message.caused} none="No message names it as a cause." />
      <h3>Payload</h3>
      <JsonTree label="payload" value={message.payload} />
      <h3>Headers</h3>
      <dl className="facts facts-mono">
        {Object.entries(message.headers).map(([name, value]) => (
          <Fact key={name} name={name}>
            {value}
          </Fact>
        ))}
      </dl>
    </>
  );
}

function noCause({ causes }: MessageDocument): string {
  if (causes.length === 0) return 'None: the chain of causes starts here.';
  return `The recording lacks ${counted(causes.length, 'cause')} that it names.`;
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }): ReactNode {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

interface NeighboursProps {
  readonly title: string;
  readonly of: MessageDocument;
  readonly messages: readonly MessageBrief[];
  readonly none: string;
}

/** The neighbours of a message in the causal graph, as links. */
function Neighbours({ title, of, messages, none }: NeighboursProps): ReactNode {
  const route = useRoute();
  return (
    <>
      <h3>
        {title} <span className="dim">{messages.length === 0 ? '' : count(messages.length)}</span>
      </h3>
      {messages.length === 0 ? <p className="dim">{none}</p> : null}
      <ul className="neighbours" onKeyDown={walkRows}>
        {messages.map((message) => (
          <li key={message.seq}>
            <button type="button" onClick={() => inspect(route, message.seq)}>
              <KindMark kind={message.kind} color={colorOf(message.service)} />
              <span className="neighbour-text">
                {message.type} <span className="dim">{message.summary}</span>
              </span>
              <span className="dim">{duration(Math.abs(of.at - message.at))}</span>
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}

function CopyButton({ message }: { readonly message: MessageDocument }): ReactNode {
  const [copied, setCopied] = useState<number>();
  const [failed, setFailed] = useState(false);
  const copy = (): void => {
    navigator.clipboard.writeText(JSON.stringify(message, undefined, 2)).then(
      () => setCopied(message.seq),
      () => setFailed(true),
    );
  };
  return (
    <>
      <span className="dim" role="status">
        {failed ? 'The browser did not allow copying.' : copied === message.seq ? '✓ Copied' : ''}
      </span>
      <button type="button" onClick={copy}>
        Copy as JSON
      </button>
    </>
  );
}
