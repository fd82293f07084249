import { type ReactNode, useEffect, useRef } from 'react';
import { viewList } from './view-list.ts';

const everywhere: readonly (readonly [string, string])[] = [
  ['/', 'focus the filter of the view'],
  ['↓ or j', 'go to the list of the view'],
  ['↑ ↓ or k j', 'move in a list'],
  ['Home End', 'first, last row; Page ↑ ↓ by pages'],
  ['Enter', 'open the selected item'],
  ['Esc', 'close the inspector'],
  ['t', 'switch between light, dark and system theme'],
  ['?', 'this list'],
];

const inTimeline: readonly (readonly [string, string])[] = [
  ['← →', 'previous, next message'],
  ['↑ ↓', 'previous, next lane'],
  ['Shift ← →', 'pan'],
  ['+ − 0', 'zoom in, zoom out, show all'],
  ['Ctrl wheel', 'zoom; drag to pan'],
  ['c', 'go to its cause'],
];

/** The keys of the page. */
export function ShortcutHelp({ onClose }: { readonly onClose: () => void }): ReactNode {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} className="help" aria-labelledby="help-title" onClose={onClose}>
      <h2 id="help-title">Keyboard</h2>
      <div className="help-columns">
        <Keys
          title="Views"
          keys={viewList.map(({ key, title, about }) => [`g ${key}`, `${title}: ${about}`] as const)}
        />
        <div>
          <Keys title="Everywhere" keys={everywhere} />
          <Keys title="Timeline of a pod" keys={inTimeline} />
        </div>
      </div>
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
    </dialog>
  );
}

function Keys({ title, keys }: { title: string; keys: readonly (readonly [string, string])[] }): ReactNode {
  return (
    <section>
      <h3>{title}</h3>
      <dl className="keys">
        {keys.map(([key, about]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{about}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
