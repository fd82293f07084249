import type { NextLook, PodAnswer, PodFailure } from '@kubus/contracts/observatory';
import type { ReactNode } from 'react';
import { clock } from '../format/moment.ts';
import { counted, duration } from '../format/quantity.ts';
import { walkRows } from '../grid/walk-rows.ts';
import { KindMark } from '../theme/KindMark.tsx';
import { StateShape } from '../theme/PodStateMark.tsx';
import { colorOf } from '../theme/services.ts';
import { formatRoute, withQuery } from '../route/route.ts';
import { inspect, useRoute } from '../route/use-route.ts';
import './answer.css';

/** What a pod is opened for: how it is in one sentence, why, and what to look at next. */
export function PodAnswerPanel({ answer }: { readonly answer: PodAnswer }): ReactNode {
  const { state, sentence, notice, why, next } = answer;
  return (
    <section className={`answer answer-${state}`} aria-label="In short">
      <p className="answer-sentence">
        <span className={`state-${state} state`}>
          <StateShape state={state} />
        </span>
        <strong>{sentence}</strong>
      </p>
      {notice === undefined ? null : <p className="answer-notice">{notice}</p>}
      {next.length === 0 ? null : (
        <ul className="answer-next" aria-label="What to look at next" onKeyDown={walkRows}>
          {next.map((look) => (
            <li key={look.text}>
              <Look look={look} />
            </li>
          ))}
        </ul>
      )}
      {why === undefined ? null : <Why why={why} />}
    </section>
  );
}

function Look({ look }: { readonly look: NextLook }): ReactNode {
  const route = useRoute();
  if ('command' in look) {
    return (
      <>
        {look.text}: <code>{look.command}</code>
      </>
    );
  }
  const to =
    'message' in look
      ? withQuery(route, { message: String(look.message) })
      : { recording: route.recording, view: look.view, query: {} };
  return <a href={formatRoute(to)}>{look.text}</a>;
}

/** The event about it, and the messages that led to the one that says so. */
function Why({ why: { said, chain, event } }: { readonly why: PodFailure }): ReactNode {
  const route = useRoute();
  return (
    <details className="answer-why" open>
      <summary>Why: {counted(chain.length, 'message')} from the first cause to what says so</summary>
      {event === undefined ? (
        <p className="dim">No Kubernetes event warns about it.</p>
      ) : (
        <p className="answer-event">
          <strong>{event.reason}</strong> {event.text}{' '}
          <span className="dim">
            (event{event.count > 1 ? `, ${event.count} times` : ''}, {clock(event.message.at)})
          </span>
        </p>
      )}
      <ol className="neighbours answer-chain" aria-label="Chain of causes" onKeyDown={walkRows}>
        {chain.map((message, index) => (
          <li key={message.seq}>
            <button type="button" onClick={() => inspect(route, message.seq)}>
              <KindMark kind={message.kind} color={colorOf(message.service)} />
              <span className="neighbour-text">
                <span className="dim">{message.service}</span> {message.type}{' '}
                <span className="dim">{message.summary}</span>
              </span>
              <span className="dim">
                {message === said ? 'says so, ' : ''}
                {index === 0 ? clock(message.at) : `+${duration(message.at - (chain[index - 1]?.at ?? message.at))}`}
              </span>
            </button>
          </li>
        ))}
      </ol>
    </details>
  );
}
