// One configuration for the whole workspace. It also defines the roles of packages (docs/architecture.md):
// which role may import which, and what packages without I/O may not touch.
import { globSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import reactHooks from 'eslint-plugin-react-hooks';
import tseslint from 'typescript-eslint';

/** What the packages of each role may import from the workspace. The role is the folder: packages/ROLE/NAME. */
const roles = {
  contract: ['contract'],
  decisions: ['contract', 'decisions'],
  bus: ['contract', 'decisions', 'bus'],
  adapters: ['contract', 'decisions', 'bus', 'adapters'],
  observe: ['contract', 'decisions', 'bus', 'adapters', 'observe'],
  services: ['contract', 'decisions', 'bus', 'adapters', 'observe'],
  tools: ['contract', 'decisions', 'bus', 'adapters', 'observe', 'services', 'tools'],
  testing: ['contract', 'decisions', 'bus', 'adapters', 'observe', 'services', 'tools', 'testing'],
};

/** The role of everything outside packages/. */
const rolesElsewhere = { proto: 'contract', services: 'services', charts: 'tools', e2e: 'testing', bench: 'testing' };

const root = import.meta.dirname;
const manifests = '{proto,e2e,bench,charts/render,packages/*/*,services/*}/package.json';
const packages = globSync(manifests, { cwd: root }).map((file) => {
  const [top, next] = file.split('/');
  const role = top === 'packages' ? next : rolesElsewhere[top];
  if (!(role in roles)) {
    throw new Error(`${file}: a package lies in one of packages/{${Object.keys(roles).join(',')}}`);
  }
  const dir = dirname(file);
  const { name } = JSON.parse(readFileSync(`${root}/${file}`, 'utf8'));
  // Compiled without the types of Node.js: no I/O, no clock. Required for contracts and decisions.
  const pure = /tsconfig\.pure\.json/.test(readFileSync(`${root}/${dir}/tsconfig.json`, 'utf8'));
  if (!pure && role === 'decisions') throw new Error(`${dir}/tsconfig.json has to extend tsconfig.pure.json`);
  return { name, dir, role, pure };
});

/** Functions that have one place in the workspace, which sets their limits. */
const onePlace = [
  {
    name: 'node:http',
    importNames: ['createServer'],
    message: 'httpServer of @kubus/service-kit makes servers: it limits what one client may cost (rule:bounds).',
  },
  {
    name: 'node:https',
    importNames: ['createServer'],
    message: 'httpsServer of @kubus/service-kit makes servers: it limits what one client may cost (rule:bounds).',
  },
];

/** Packages that open paths which a container can influence. */
const opensPathsOfContainers = [
  'packages/adapters/filesystem',
  'packages/adapters/log-reader',
  'packages/adapters/object-socket',
  'services/node-api',
  'services/pod-workers',
  'services/volume-manager',
];

/** Files of these packages that open only the node's own paths and those of the kernel; and the places of the functions that open others. */
const opensOwnPaths = [
  'packages/adapters/filesystem/src/atomic-writer/content-folder.ts',
  'packages/adapters/filesystem/src/held.ts',
  'packages/adapters/filesystem/src/mount-table.ts',
  'packages/adapters/filesystem/src/open-regular.ts',
  'services/node-api/src/debug/zpages.ts',
  'services/node-api/src/server/app.ts',
  'services/node-api/src/streams/peer-state.ts',
  'services/node-api/src/tls/followed-files.ts',
  'services/node-api/src/tls/pair-files.ts',
  'services/node-api/src/tls/serving-certificates.ts',
  'services/pod-workers/src/cgroups/open-cgroups.ts',
  'services/pod-workers/src/files/node-files.ts',
];

const opening = ['node:fs', 'node:fs/promises'].map((name) => ({
  name,
  importNames: [
    ...['open', 'openSync', 'opendir', 'opendirSync', 'createReadStream', 'createWriteStream', 'promises'],
    ...['readFile', 'readFileSync', 'writeFile', 'writeFileSync', 'appendFile', 'appendFileSync'],
    ...['truncate', 'truncateSync', 'copyFile', 'copyFileSync', 'cp', 'cpSync'],
  ],
  message:
    'A container can put a pipe or a link there: use openRegular and its neighbours of @kubus/filesystem (rule:bounds), or list the file in opensOwnPaths.',
}));

const roleRules = packages.flatMap(({ name, dir, role, pure }) => {
  const forbidden = packages.filter((other) => other.name !== name && !roles[role].includes(other.role));
  const everywhere = role === 'testing' ? [] : onePlace;
  const own = opensOwnPaths.filter((file) => file.startsWith(`${dir}/`));
  const rulesOf = (paths) => ({
    'no-restricted-imports': [
      'error',
      {
        paths,
        patterns: [
          ...forbidden.map((other) => ({
            group: [other.name, `${other.name}/*`],
            message: `A package of role "${role}" may not import "${other.role}".`,
          })),
          ...(pure ? [{ group: ['node:*'], message: `${name} does no I/O.` }] : []),
        ],
      },
    ],
    ...(pure && {
      'no-restricted-properties': [
        'error',
        { object: 'Date', property: 'now', message: 'Pass the time in.' },
        { object: 'Math', property: 'random', message: 'Pass random values in.' },
      ],
      'no-restricted-syntax': [
        'error',
        { selector: 'NewExpression[callee.name="Date"][arguments.length=0]', message: 'Pass the time in.' },
      ],
    }),
  });
  const src = { files: [`${dir}/src/**/*.{ts,tsx}`], ignores: ['**/*.test.ts'] };
  if (!opensPathsOfContainers.includes(dir)) return [{ ...src, rules: rulesOf(everywhere) }];
  return [
    { ...src, rules: rulesOf([...everywhere, ...opening]) },
    ...(own.length === 0 ? [] : [{ files: own, rules: rulesOf(everywhere) }]),
  ];
});

export default tseslint.config(
  { ignores: ['**/dist/**', '**/generated/**', '**/node_modules/**', '.kubus/**'] },
  {
    files: ['**/*.{ts,tsx}'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: root } },
    rules: {
      eqeqeq: 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      // A generic method table is served by type parameters that only the body uses.
      '@typescript-eslint/no-unnecessary-type-parameters': 'off',
      // There are no enums (erasableSyntaxOnly), and looking for them takes time.
      '@typescript-eslint/no-unsafe-enum-assignment': 'off',
      '@typescript-eslint/no-unsafe-enum-comparison': 'off',
      'max-lines': ['warn', { max: 400 }],
    },
  },
  {
    files: ['**/*.tsx'],
    plugins: { 'react-hooks': reactHooks },
    rules: { 'react-hooks/rules-of-hooks': 'error', 'react-hooks/exhaustive-deps': 'error' },
  },
  ...roleRules,
  {
    // What pods have written is text for the page, never HTML.
    files: ['packages/observe/observatory-page/src/**/*.{ts,tsx}'],
    rules: {
      'no-restricted-syntax': [
        'error',
        {
          selector:
            'JSXAttribute[name.name="dangerouslySetInnerHTML"], MemberExpression[property.name=/^(innerHTML|outerHTML|srcdoc|insertAdjacentHTML|setHTMLUnsafe|createContextualFragment)$/]',
          message: 'Text of pods would become HTML: let React make the elements.',
        },
      ],
    },
  },
  {
    // The text of pods reaches the terminal of the operator only through `print`, which escapes controls.
    files: ['packages/tools/cli/src/**/*.ts'],
    ignores: ['**/*.test.ts'],
    rules: { 'no-console': 'error' },
  },
);
