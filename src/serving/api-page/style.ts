/** The style of the API reference, with the colours of `web/shared/styles/tokens.css`. */
export const STYLE = `
:root { color-scheme: light dark; --paper: #fbfaf8; --raised: #ffffff; --ink: #1b1d1c; --soft: #5c625f; --rule: #dedcd7; --accent: #0b6e4f; --tint: #e6f1ec }
@media (prefers-color-scheme: dark) { :root { --paper: #131615; --raised: #1b1f1d; --ink: #eceeed; --soft: #a3aba7; --rule: #303633; --accent: #56c596; --tint: #1e372b } }
*, *::before, *::after { box-sizing: border-box }
html { scroll-padding-top: 1rem }
body { max-width: 72rem; margin: 0 auto; padding: 0 clamp(1rem, 4vw, 2.5rem) 4rem; background: var(--paper); color: var(--ink); font: 400 1rem/1.6 "Inter", -apple-system, BlinkMacSystemFont, "Segoe UI", "Roboto", "Noto Sans", "Helvetica Neue", "Liberation Sans", sans-serif; text-wrap: pretty }
a { color: var(--accent); text-underline-offset: 0.2em }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 3px; border-radius: 4px }
.skip:not(:focus) { position: absolute; overflow: hidden; width: 1px; height: 1px; clip-path: inset(50%) }
header { margin-bottom: 2rem; padding-block: 1.25rem; border-bottom: 1px solid var(--rule) }
h1 { margin: 0; font-size: clamp(1.5rem, 4vw, 2rem); line-height: 1.25 }
h2 { margin: 3rem 0 0.75rem; padding-top: 1.25rem; border-top: 1px solid var(--rule); font-size: 1.375rem }
h3 { margin: 2.25rem 0 0.5rem; font-size: 1.0625rem; overflow-wrap: anywhere }
h4 { margin: 1.25rem 0 0.375rem; font-size: 0.9375rem }
h3 a { color: inherit; text-decoration: none }
h3 a:hover { text-decoration: underline }
p { max-width: 46rem; margin: 0 0 0.75rem }
ul { margin: 0; padding: 0; list-style: none }
code { padding: 0.0625rem 0.3125rem; border-radius: 5px; background: var(--tint); font: 0.875em/1.5 ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace; overflow-wrap: anywhere }
.method { display: inline-block; min-width: 4rem; margin-right: 0.5rem; color: var(--accent); font: 600 0.8125rem/1.5 ui-monospace, Menlo, Consolas, "Liberation Mono", monospace }
.contents { font-size: 0.875rem }
.contents > p { margin: 0.75rem 0 0.25rem; color: var(--soft) }
.contents a { display: block; padding-block: 0.1875rem; text-decoration: none; overflow-wrap: anywhere }
.contents a:hover { text-decoration: underline }
.contents .method { min-width: 3.25rem; margin-right: 0; font-size: 0.6875rem }
table { width: 100%; margin: 0 0 1rem; border-collapse: collapse; font-size: 0.875rem }
th, td { padding: 0.5rem 0.75rem 0.5rem 0; border-bottom: 1px solid var(--rule); text-align: left; vertical-align: top; font-weight: 400; overflow-wrap: anywhere }
thead th { color: var(--soft); font-size: 0.8125rem }
tbody th, tbody td { width: 34% }
tbody th { width: 30% }
.optional { display: block; color: var(--soft); font-size: 0.8125rem }
details { margin-bottom: 0.375rem; border: 1px solid var(--rule); border-radius: 10px; background: var(--raised) }
summary { padding: 0.5rem 0.875rem; cursor: pointer }
details > div { padding: 0 0.875rem 0.375rem }
.status { display: inline-block; min-width: 2.75rem; font-weight: 600; font-variant-numeric: tabular-nums }
@media (max-width: 40rem) {
  thead { position: absolute; overflow: hidden; width: 1px; height: 1px; clip-path: inset(50%) }
  tr { display: block; padding-block: 0.5rem; border-bottom: 1px solid var(--rule) }
  tbody th, tbody td { display: block; width: auto; padding: 0.125rem 0; border: 0 }
  .optional { display: inline }
}
@media (min-width: 64rem) {
  .page { display: grid; grid-template-columns: 16rem minmax(0, 1fr); align-items: start; gap: 3rem }
  .contents { position: sticky; top: 1.5rem; overflow-y: auto; max-height: calc(100vh - 3rem) }
  main > h2:first-child { margin-top: 0; padding-top: 0; border-top: 0 }
}
`
