"""The style sheet of a report, light and dark."""

from typing import Final

STYLE: Final = """
:root{color-scheme:light dark;--ground:#fff;--card:#f6f7f9;--text:#1b1f24;--dim:#5b6672;
--grid:#e3e6ea;--axis:#8a939d;--one:#1668c7;--two:#d9680c;--three:#8b5cc9;--four:#2f8f4e;
--warm:#00000010}
@media(prefers-color-scheme:dark){:root{--ground:#15181c;--card:#1e2329;--text:#e4e8ec;
--dim:#98a3af;--grid:#2c333b;--axis:#66717d;--one:#5aa7f5;--two:#f59a4a;--three:#b794f0;
--four:#62c584;--warm:#ffffff12}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--text);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:1500px;margin:0 auto;padding:24px 28px 60px}
h1{font-size:21px;margin:0;overflow-wrap:anywhere}
h2{font-size:16px;margin:32px 0 10px}
.sub{color:var(--dim);margin:2px 0 18px;overflow-wrap:anywhere}
.verdict{border-left:4px solid var(--one);background:var(--card);padding:12px 16px;margin:0 0 10px;
font-size:17px;border-radius:0 6px 6px 0;overflow-wrap:anywhere}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(150px,1fr));gap:10px;
margin:18px 0}
.cards div{background:var(--card);border-radius:6px;padding:10px 14px}
.cards dt{color:var(--dim);font-size:13px}
.cards dd{margin:0;font-size:20px;font-variant-numeric:tabular-nums}
.cards small{display:block;font-size:13px;color:var(--dim)}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(560px,100%),1fr));gap:18px}
figure{margin:0;background:var(--card);border-radius:6px;padding:12px 14px 4px}
figcaption{font-weight:600;margin-bottom:4px}
svg{width:100%;height:auto;display:block;font:11.5px system-ui,sans-serif}
.grid{stroke:var(--grid)}.axis{stroke:var(--axis)}
.tick,.label,.note{fill:var(--dim)}.legend{fill:var(--text)}
.end{text-anchor:end}.middle{text-anchor:middle}
.warmup{fill:var(--warm)}
.line{fill:none;stroke-width:1.8;stroke-linejoin:round}
.one{stroke:var(--one)}.two{stroke:var(--two)}.three{stroke:var(--three)}.four{stroke:var(--four)}
.thin{stroke-width:1;opacity:.75}.dashed{stroke-dasharray:5 4}
.at rect{fill:transparent}.at path{stroke:var(--axis);visibility:hidden}
.at text{fill:var(--text);font-weight:600;visibility:hidden;white-space:pre}
.at:hover path,.at:hover text{visibility:visible}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
.tables{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(440px,100%),1fr));gap:0 40px}
td,th{padding:4px 18px 4px 0;text-align:left;border-bottom:1px solid var(--grid);
vertical-align:top;overflow-wrap:anywhere}
th{color:var(--dim);font-weight:500}td.n,th.n{text-align:right}
"""
