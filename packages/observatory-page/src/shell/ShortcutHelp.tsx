import { type ReactNode, useEffect, useRef } from 'react';
import { places } from './places.ts';

const everywhere: readonly (readonly [string, string])[] = [
  ['/', 'go to the filter of the view'],
  ['↑ ↓ Home End', 'move in a list'],
  ['Enter', 'open what is chosen'],
  ['Esc', 'close the inspector'],
  ['t', 'light, dark, or as the system'],
  ['?', 'this list'],
];

const inTimeline: readonly (readonly [string, string])[] = [
  ['← →', 'message before, message after'],
  ['↑ ↓', 'lane above, lane below'],
  ['Shift ← →', 'move the section'],
  ['+ − 0', 'nearer, farther, all of it'],
  ['Ctrl wheel', 'nearer, farther; dragging moves'],
  ['c', 'to what it waited for'],
];

/** The keys of the page. */
export function ShortcutHelp({ onClose }: { readonly onClose: () => void }): ReactNode {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} className="help" aria-labelledby="help-title" onClose={onClose}>
      <h2 id="help-title">Keyboard</h2>
      <div className="help-columns">
        <Keys title="Views" keys={places.map(({ key, title, about }) => [`g ${key}`, `${title}: ${about}`] as const)} />
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
