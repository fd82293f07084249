import { type ReactNode, useDeferredValue, useMemo, useState } from 'react';
import { below, entriesOf, holds, placesOf, plain, top } from './json-search.ts';
import './inspector.css';

interface Props {
  readonly label: string;
  readonly value: unknown;
  /** How many levels are open at first. */
  readonly depth?: number;
}

/** A document that can be folded and searched. */
export function JsonTree({ label, value, depth = 2 }: Props): ReactNode {
  const [text, setText] = useState('');
  const wanted = useDeferredValue(text);
  const { open, found } = useMemo(() => placesOf(value, wanted), [value, wanted]);
  if (entriesOf(value).length === 0) return <p className="json-leaf">{value === null ? 'none' : plain(value)}</p>;
  return (
    <div>
      <div className="json-search">
        <input
          type="search"
          aria-label={`Search the ${label}`}
          placeholder={`Search the ${label}`}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <span className="dim" role="status">
          {wanted === '' ? '' : `${found} found`}
        </span>
      </div>
      <div className="json">
        <Branch value={value} path={top} depth={depth} text={wanted} open={open} />
      </div>
    </div>
  );
}

interface BranchProps {
  readonly value: unknown;
  readonly path: string;
  readonly depth: number;
  readonly text: string;
  readonly open: ReadonlySet<string>;
}

function Branch({ value, path, depth, text, open }: BranchProps): ReactNode {
  return entriesOf(value).map(([key, child]) => {
    const place = below(path, key);
    const inner = entriesOf(child);
    const name = <span className={holds(key, text) ? 'json-key json-found' : 'json-key'}>{key}</span>;
    if (inner.length === 0) {
      return (
        <div key={key} className="json-leaf">
          {name}: <Leaf value={child} text={text} />
        </div>
      );
    }
    const shown = text === '' ? depth > 0 : open.has(place);
    return (
      // A new search resets what is unfolded; until then the user controls it.
      <details key={`${key} ${text}`} open={shown}>
        <summary>
          {name} <span className="dim">{Array.isArray(child) ? `[${inner.length}]` : `{${inner.length}}`}</span>
        </summary>
        <Branch value={child} path={place} depth={depth - 1} text={text} open={open} />
      </details>
    );
  });
}

function Leaf({ value, text }: { readonly value: unknown; readonly text: string }): ReactNode {
  const kind = value === null ? 'null' : typeof value;
  const shown = typeof value === 'string' ? `"${value}"` : plain(value);
  return <span className={`json-${kind}${holds(value, text) ? ' json-found' : ''}`}>{shown}</span>;
}
