// The parts of ECharts that reports use; the whole library is twice as large.
import {BarChart, HeatmapChart, LineChart, ScatterChart} from 'echarts/charts';
import {DataZoomInsideComponent, GridComponent, LegendScrollComponent, MarkAreaComponent, MarkLineComponent, TitleComponent,
        TooltipComponent, VisualMapContinuousComponent} from 'echarts/components';
import * as echarts from 'echarts/core';
import {CanvasRenderer, SVGRenderer} from 'echarts/renderers';

echarts.use([
  BarChart, HeatmapChart, LineChart, ScatterChart, DataZoomInsideComponent, GridComponent, LegendScrollComponent,
  MarkAreaComponent, MarkLineComponent, TitleComponent, TooltipComponent, VisualMapContinuousComponent, CanvasRenderer, SVGRenderer,
]);

export {echarts};
