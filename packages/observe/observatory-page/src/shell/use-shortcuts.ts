import { useEffect, useEffectEvent } from 'react';
import { type Shortcut, shortcutOf } from './shortcuts.ts';

/** How long after `g` the second key may follow. */
const followMs = 1500;

/** Calls for each shortcut that is pressed while no field has the focus; Escape counts in fields too. */
export function useShortcuts(pressed: (shortcut: Shortcut) => void): void {
  const call = useEffectEvent(pressed);
  useEffect(() => {
    let waitingSince = -Infinity;
    const onKey = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      if (isField(event.target) && event.key !== 'Escape') return;
      // Arrow keys belong to whatever has the focus.
      if (event.key.startsWith('Arrow') && event.target !== document.body) return;
      const shortcut = shortcutOf(event.key, event.timeStamp - waitingSince < followMs);
      waitingSince = shortcut?.do === 'wait' ? event.timeStamp : -Infinity;
      if (shortcut === undefined || shortcut.do === 'wait') return;
      if (shortcut.do !== 'close') event.preventDefault();
      call(shortcut);
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  }, []);
}

function isField(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest('input, select, textarea, dialog') !== null;
}
