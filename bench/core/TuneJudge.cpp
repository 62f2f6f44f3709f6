// Ratios, their mean, the rule.
#include "TuneJudge.h"

#include "Statistics.h"

#include <algorithm>
#include <cmath>

namespace attnc::bench {

std::vector<TuneScore> scoreCandidates(const TuneTimes &times, const std::string &baseline) {
  std::vector<TuneScore> out;
  const auto base = times.find(baseline);
  if (base == times.end())
    return out;
  for (const auto &[name, cells] : times) {
    if (name == baseline)
      continue;
    TuneScore score;
    score.implementation = name;
    double logs = 0;
    for (const auto &[cell, repetitions] : base->second) {
      const auto own = cells.find(cell);
      std::vector<double> ratios;
      if (own != cells.end())
        for (const auto &[rep, us] : repetitions)
          if (const auto mine = own->second.find(rep); mine != own->second.end() && us > 0)
            ratios.push_back(mine->second / us);
      if (ratios.empty())
        break;
      score.ratios[cell] = median(ratios);
      logs += std::log(score.ratios[cell]);
    }
    if (base->second.empty() || score.ratios.size() != base->second.size())
      continue;
    score.score = std::exp(logs / double(score.ratios.size()));
    out.push_back(std::move(score));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const TuneScore &a, const TuneScore &b) { return a.score < b.score; });
  return out;
}

std::optional<TuneScore> tuneWinner(const std::vector<TuneScore> &scores, double margin) {
  for (const TuneScore &s : scores) {
    if (s.score > 1 - margin)
      break;
    if (std::all_of(s.ratios.begin(), s.ratios.end(),
                    [&](const auto &ratio) { return ratio.second <= 1 + margin; }))
      return s;
  }
  return std::nullopt;
}

} // namespace attnc::bench
