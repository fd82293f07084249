import { useSyncExternalStore } from 'react';

export type ThemeChoice = 'system' | 'light' | 'dark';
export const themeChoices: readonly ThemeChoice[] = ['system', 'light', 'dark'];

const key = 'kubus-observatory-theme';
const system = window.matchMedia('(prefers-color-scheme: dark)');
const listeners = new Set<() => void>();

function chosen(): ThemeChoice {
  const stored = localStorage.getItem(key);
  return themeChoices.find((choice) => choice === stored) ?? 'system';
}

function apply(): void {
  const choice = chosen();
  document.documentElement.dataset['theme'] = choice === 'system' ? (system.matches ? 'dark' : 'light') : choice;
  for (const listener of listeners) listener();
}

/** Must be called once, before anything is rendered. */
export function startTheme(): void {
  system.addEventListener('change', apply);
  apply();
}

export function chooseTheme(choice: ThemeChoice): void {
  localStorage.setItem(key, choice);
  apply();
}

function subscribe(changed: () => void): () => void {
  listeners.add(changed);
  return () => listeners.delete(changed);
}

export function useThemeChoice(): ThemeChoice {
  return useSyncExternalStore(subscribe, chosen);
}

/** `light` or `dark`: canvases are redrawn when it changes. */
export function useTheme(): string {
  return useSyncExternalStore(subscribe, () => document.documentElement.dataset['theme'] ?? 'light');
}
